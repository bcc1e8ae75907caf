// A thread's state by the interpreter's own lists of them: from 3.15 on, no key of pthread_getspecific() keeps it. Other threads
// come and go meanwhile, so a search may miss one, and finds it the next time; what is found says itself whose it is.
// In: memory of CPython's, laid out as a Layout says. Out: thread states.
#pragma once
#include "python/chain.h"

namespace diogenes::python {

template <typename Memory>
class ThreadList {
 public:
  explicit ThreadList(const Interpreter& interpreter) : interpreter_(interpreter), at_(interpreter.layout) {}

  // `thread`: its pthread_t. Of several states of one thread, one with frames. 0: there is none.
  uintptr_t find(uintptr_t thread) const {
    uintptr_t found = 0, next = pointer(interpreter_.runtime + at_.interpreters);
    for (int interpreters = 0; next != 0 && interpreters < kMostInterpreters; ++interpreters) {
      uintptr_t state = pointer(next + at_.threads);
      View view;
      for (int threads = 0; threads < kMostThreads && look(state, view); ++threads) {
        if (view.template get<uintptr_t>(at_.thread_id) == thread) {
          if (view.template get<uintptr_t>(at_.frame) != 0) return state;
          found = state;
        }
        state = view.template get<uintptr_t>(at_.next_thread);
      }
      next = pointer(next + at_.next_interpreter);
    }
    return found;
  }

  // Is it still in its list, and that thread's?
  bool holds(uintptr_t state, uintptr_t thread) const {
    View view;
    if (!look(state, view) || view.template get<uintptr_t>(at_.thread_id) != thread) return false;
    const auto before = view.template get<uintptr_t>(at_.previous_thread);
    const auto owner = view.template get<uintptr_t>(at_.its_interpreter);
    return pointer(before != 0 ? before + at_.next_thread : owner + at_.threads) == state;
  }

 private:
  static constexpr int kMostInterpreters = 64, kMostThreads = 4096;

  // 0: it is not there.
  uintptr_t pointer(uintptr_t at) const {
    uintptr_t value = 0;
    return at % 8 == 0 && Memory::copy(at, sizeof value, &value) ? value : 0;
  }
  bool look(uintptr_t state, View& view) const {
    return state != 0 && state % 8 == 0 && Memory::look(state, at_.thread_id + sizeof(uintptr_t), view);
  }

  const Interpreter& interpreter_;
  const Layout& at_;
};

}  // namespace diogenes::python
