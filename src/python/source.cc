// libdiogenes-python.so: adds the frames of CPython 3.8 to 3.15 to the agent's stacks. It reads them from the
// interpreter's memory alone: it never calls the interpreter, takes the GIL, or writes to its memory. It is
// preloaded where a run before showed an interpreter, and in every profile, which is one run; a process without one pays a
// look at each loaded file.
#include "trace/python_source.h"

#include <sched.h>

#include "base/known_keys.h"
#include "python/chain.h"
#include "python/code_file.h"
#include "python/interpreters.h"
#include "python/thread_table.h"
#include "python/waiter.h"

namespace diogenes::python {

namespace {

PythonServices services{};
KnownKeys<1 << 18> stacks;  // by the machine's stack and the hash of Python's frames
std::atomic<bool> busy{false};

// Held while a new stack is made. Who was interrupted while holding it, or waits too long, does without.
class Held {
 public:
  explicit Held(bool in_handler) {
    for (int i = 0; i < (in_handler ? 100 : 20'000) && !held_; ++i) {
      // acquire pairs with the release below.
      held_ = !busy.exchange(true, std::memory_order_acquire);
      if (held_) return;
      if (i % 64 == 63 && !in_handler)
        sched_yield();
      else
        __builtin_ia32_pause();
    }
  }
  ~Held() {
    if (held_) busy.store(false, std::memory_order_release);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  explicit operator bool() const { return held_; }

 private:
  bool held_ = false;
};

// The frames of the calling thread, and of the one that waits for it.
struct Found {
  const PythonReading* own = nullptr;
  const PythonReading* waiter = nullptr;
};

// False: a function could not be kept.
bool add_frames(const Interpreter& interpreter, const PythonReading* reading, uint64_t module, Frame* frames,
                int& count) {
  for (int i = 0; reading && i < reading->count && count < kMaximumFrames; ++i) {
    const PythonReading::Entry& entry = reading->entries[i];
    const uint32_t code = code_index(interpreter, entry);
    if (code == 0) return false;
    frames[count++] = PythonFrame{code, entry.instruction, entry.entry}.packed(module);
  }
  return true;
}

// kNoStack: it could not be kept.
uint32_t make_stack(const Interpreter& interpreter, uint32_t stack, const Found& found, bool in_signal) {
  static Frame frames[kMaximumFrames];  // whoever makes a stack is Held
  int count = 0;
  if (!add_frames(interpreter, found.own, Frame::kPython, frames, count) ||
      !add_frames(interpreter, found.waiter, Frame::kPythonOfWaiter, frames, count))
    return kNoStack;
  const bool cut = (found.own && found.own->cut) || (found.waiter && found.waiter->cut);
  return services.extend(stack, frames, count, cut ? kPythonCut : 0, in_signal);
}

// The frames of the calling thread. In a signal's handler they may be anywhere between two states.
bool read(const Interpreter& interpreter, bool in_signal, PythonReading& to, PythonSummary& summary) {
  const uintptr_t state = thread_state_here(interpreter, in_signal, to, summary);
  if (state == 0) return false;
  const bool good = in_signal ? ChainReader<ThroughKernel>(interpreter).read(state, to)
                              : ChainReader<InPlace>(interpreter).read(state, to);
  if (good) return to.count > 0;
  __atomic_fetch_add(&summary.unreadable, 1, __ATOMIC_RELAXED);
  if (!in_signal) check_thread_state_again();
  return false;
}

uint64_t key_of(uint32_t stack, const Found& found) {
  uint64_t hash = found.own ? mixed(found.own->hash, stack) : stack;
  if (found.waiter) hash = mixed(hash, ~found.waiter->hash);
  return hash ? hash : 1;
}

uint32_t with_frames(const Interpreter& interpreter, uint32_t stack, const Found& found, bool in_signal,
                     PythonSummary& summary) {
  const uint64_t key = key_of(stack, found);
  if (const uint32_t known = stacks.find(key)) return known;
  const Held held(in_signal);
  uint32_t made = held ? stacks.find(key) : kNoStack;
  if (made != kNoStack) return made;
  look_for_others(summary);
  if (held && !stacks.full() && running_interpreter(summary) == &interpreter)
    made = make_stack(interpreter, stack, found, in_signal);
  if (made == kNoStack) {
    __atomic_fetch_add(&summary.unreadable, 1, __ATOMIC_RELAXED);
    return stack;
  }
  stacks.insert(key, made);
  return made;
}

uint32_t add_read(const Interpreter* interpreter, uint32_t stack, bool in_signal, PythonReading& reading,
                  PythonSummary& summary) {
  Found found;
  if (read(*interpreter, in_signal, reading, summary)) found.own = &reading;
  if (!in_signal) found.waiter = frames_of_waiter(*interpreter);
  return found.own || found.waiter ? with_frames(*interpreter, stack, found, in_signal, summary) : stack;
}

// Five KiB each: kept off the program's stack, which may be small.
struct Scratch {
  PythonReading reading;
  std::atomic<bool> taken{false};
};
constinit Scratch scratches[16];

// All are taken: 16 threads read at once, or a forked child has those of threads that it does not have.
[[gnu::noinline]] uint32_t add_on_own_stack(const Interpreter* interpreter, uint32_t stack, bool in_signal,
                                            PythonSummary& summary) {
  PythonReading reading;
  return add_read(interpreter, stack, in_signal, reading, summary);
}

uint32_t add(uint32_t stack, bool in_signal, PythonSummary& summary) {
  const Interpreter* interpreter = running_interpreter(summary);
  if (!interpreter) return stack;
  for (Scratch& scratch : scratches) {
    if (scratch.taken.exchange(true, std::memory_order_acquire)) continue;  // pairs with the release below
    const uint32_t with = add_read(interpreter, stack, in_signal, scratch.reading, summary);
    scratch.taken.store(false, std::memory_order_release);
    return with;
  }
  return add_on_own_stack(interpreter, stack, in_signal, summary);
}

void forget() {
  stacks.clear();
  forget_code();
  forget_published();
  busy.store(false, std::memory_order_relaxed);
}

}  // namespace

// The agent looks for it by name (trace/python_source.h).
extern "C" __attribute__((visibility("default"))) const PythonSource diogenes_python_source = {
    sizeof(PythonSource),
    [](const PythonServices& of_agent) {
      services = of_agent;
      set_map_part(of_agent.map_part);
      set_table_map_part(of_agent.map_part);
    },
    [](const void* image) { add_image(image, services.symbol); },
    drop_image,
    add,
    forget,
};

}  // namespace diogenes::python
