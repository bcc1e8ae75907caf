#include "python/interpreters.h"

#include <limits.h>
#include <pthread.h>

#include <atomic>

#include "base/memory_probe.h"
#include "python/running_layout.h"
#include "python/thread_list.h"
#include "python/thread_table.h"
#include "python/waiter.h"

namespace diogenes::python {

namespace {

constexpr int kMostCandidates = 8;

// Filled by the thread that loads a file, under the dynamic linker's lock; read by all. `count` is stored
// last.
Interpreter candidates[kMostCandidates];
uint32_t versions[kMostCandidates];
std::atomic<int> candidate_count{0};
std::atomic<bool> gone[kMostCandidates];  // its file is not loaded any more
std::atomic<uintptr_t> code_type{0};      // of the first file that has one, as the dynamic linker takes it
std::atomic<const Interpreter*> running{nullptr};
std::atomic<bool> refused{false};
std::atomic<uint32_t> calls{0};  // where there are several candidates
constexpr uint32_t kCallsBetweenLooks = 8;

// The key under which each thread keeps its state (pthread_getspecific); -1: not found yet.
std::atomic<int> key{-1};
std::atomic<uint32_t> searches{0};
std::atomic<uint32_t> mismatches{0};

struct Known {
  uintptr_t state;    // was checked
  uintptr_t wanting;  // was found wanting,
  uint32_t times;     // so often
};
constexpr uint32_t kMostTimes = 16;  // then it is left alone
thread_local Known known __attribute__((tls_model("initial-exec"))) = {0, 0, 0};

// Before 3.11 no number says the version, but each brought functions.
template <typename Symbol>
uint32_t version_of(const Symbol& symbol) {
  const auto exports = [&](const char* name) { return symbol(name) != 0; };
  if (const uintptr_t at = symbol("Py_Version")) {
    unsigned long version = 0;
    ThroughKernel::copy(at, sizeof version, &version);
    return static_cast<uint32_t>(version);
  }
  if (exports("PyModule_AddObjectRef")) return 0x030a0000;
  if (exports("PyFrame_GetCode")) return 0x03090000;
  if (exports("PyCode_NewWithPosOnlyArgs")) return 0x03080000;
  return 0;
}

bool is_started(const Interpreter& interpreter) {
  uintptr_t first = 0;
  return ThroughKernel::copy(interpreter.runtime + interpreter.layout.interpreters, sizeof first, &first) &&
         first != 0;
}

void refuse(PythonSummary& summary, PythonState state) {
  summary.state = static_cast<uint32_t>(state);
  refused.store(true, std::memory_order_relaxed);
  running.store(nullptr, std::memory_order_relaxed);
}

void look(PythonSummary& summary) {
  if (refused.load(std::memory_order_relaxed)) return;
  // acquire pairs with the release in add_image().
  const int count = candidate_count.load(std::memory_order_acquire);
  const Interpreter* found = nullptr;
  for (int i = 0; i < count; ++i) {
    if (gone[i].load(std::memory_order_relaxed)) continue;
    if (!candidates[i].layout.known()) {
      if (!found) summary.version = versions[i];
      if (count == 1) return refuse(summary, PythonState::unknown_version);
      continue;
    }
    if (!is_started(candidates[i])) continue;
    if (found) return refuse(summary, PythonState::several);
    found = &candidates[i];
    summary.version = versions[i];
  }
  running.store(found, std::memory_order_release);
}

// Not the interpreter's to end: it is ending itself, and takes other threads' states away.
bool is_finalizing(const Interpreter& interpreter, uintptr_t state) {
  const uintptr_t by =
      __atomic_load_n(reinterpret_cast<const uintptr_t*>(interpreter.runtime + interpreter.layout.finalizing),
                      __ATOMIC_ACQUIRE);
  return by != 0 && by != state;
}

enum class Check : uint8_t { other, good, wrong };

// Is this the calling thread's state, with frames that can be read?
Check check(const Interpreter& interpreter, uintptr_t state, PythonReading& scratch) {
  uintptr_t thread = 0;
  if (state == 0 || state % 8 != 0 ||
      !ThroughKernel::copy(state + interpreter.layout.thread_id, sizeof thread, &thread) ||
      thread != static_cast<uintptr_t>(pthread_self()))
    return Check::other;
  return ChainReader<ThroughKernel>(interpreter).read(state, scratch) ? Check::good : Check::wrong;
}

// Is what was this thread's state still its? It may have been deleted, by another thread too, and its memory be used again.
bool is_own(const Interpreter& interpreter, uintptr_t state) {
  const Layout& at = interpreter.layout;
  const uintptr_t thread = state + at.thread_id, frame = state + at.frame;
  if (!is_there(thread) || (thread / kProbedPage != frame / kProbedPage && !is_there(frame))) return false;
  return __atomic_load_n(reinterpret_cast<const uintptr_t*>(thread), __ATOMIC_RELAXED) ==
         static_cast<uintptr_t>(pthread_self());
}

uintptr_t value_of(int of_key) {
  return reinterpret_cast<uintptr_t>(pthread_getspecific(static_cast<pthread_key_t>(of_key)));
}

// The lowest key whose value is this thread's state: the interpreter makes its key before any module of its.
void find_key(const Interpreter& interpreter, PythonReading& scratch, PythonSummary& summary) {
  // A thread without a state looks in vain: threads that have one come, too.
  const uint32_t search = searches.fetch_add(1, std::memory_order_relaxed);
  if (search >= 256 && search % 256 != 0) return;
  for (int candidate = 0; candidate < PTHREAD_KEYS_MAX; ++candidate) {
    const uintptr_t state = value_of(candidate);
    if (state == 0) continue;
    const Check result = check(interpreter, state, scratch);
    if (result == Check::wrong && mismatches.fetch_add(1, std::memory_order_relaxed) == 64)
      refuse(summary, PythonState::unlike);
    if (result != Check::good) continue;
    known = {0, 0, 0};
    key.store(candidate, std::memory_order_relaxed);
    return;
  }
}

// The state that was found in the list, and how often a search was in vain since.
struct Listed {
  uintptr_t state;
  uint32_t asked, misses;
};
thread_local Listed listed __attribute__((tls_model("initial-exec"))) = {0, 0, 0};

// A search reads every thread's state: a thread that has none is looked for more and more seldom.
uintptr_t listed_state(const Interpreter& interpreter) {
  const ThreadList<ThroughKernel> list(interpreter);
  const auto self = static_cast<uintptr_t>(pthread_self());
  if (listed.state != 0 && list.holds(listed.state, self)) return listed.state;
  constexpr uint32_t kMostDoubled = 10;
  const uint32_t every = 1u << (listed.misses < kMostDoubled ? listed.misses : kMostDoubled);
  if (listed.asked++ % every != 0) return 0;
  listed.state = list.find(self);
  listed.misses = listed.state != 0 ? 0 : listed.misses + 1;
  return listed.state;
}

// 0: it has none, or the key is not known yet.
uintptr_t kept_state(const Interpreter& interpreter, PythonReading& scratch, PythonSummary& summary) {
  if (key.load(std::memory_order_relaxed) < 0) find_key(interpreter, scratch, summary);
  const int of_key = key.load(std::memory_order_relaxed);
  return of_key < 0 ? 0 : value_of(of_key);
}

}  // namespace

void add_image(const void* image, uintptr_t (*symbol_of)(const void* image, const char* name)) {
  const auto symbol = [&](const char* name) { return symbol_of(image, name); };
  if (code_type.load(std::memory_order_relaxed) == 0)
    code_type.store(symbol("PyCode_Type"), std::memory_order_relaxed);
  const uintptr_t runtime = symbol("_PyRuntime");
  const int count = candidate_count.load(std::memory_order_relaxed);
  if (runtime == 0 || count == kMostCandidates) return;
  versions[count] = version_of(symbol);
  candidates[count].runtime = runtime;
  candidates[count].code_type = code_type.load(std::memory_order_relaxed);
  candidates[count].layout = layout_of<ThroughKernel>(versions[count], runtime);
  candidate_count.store(count + 1, std::memory_order_release);
}

void drop_image(uintptr_t begin, uintptr_t end) {
  const int count = candidate_count.load(std::memory_order_relaxed);
  for (int i = 0; i < count; ++i) {
    if (candidates[i].runtime < begin || candidates[i].runtime >= end) continue;
    gone[i].store(true, std::memory_order_relaxed);
    if (running.load(std::memory_order_relaxed) != &candidates[i]) continue;
    running.store(nullptr, std::memory_order_relaxed);
    key.store(-1, std::memory_order_relaxed);
  }
}

const Interpreter* running_interpreter(PythonSummary& summary) {
  // acquire pairs with the release in look().
  const Interpreter* found = running.load(std::memory_order_acquire);
  if (found && candidate_count.load(std::memory_order_relaxed) == 1) return found;
  if (found && calls.fetch_add(1, std::memory_order_relaxed) % kCallsBetweenLooks != 0) return found;
  if (refused.load(std::memory_order_relaxed) || candidate_count.load(std::memory_order_relaxed) == 0)
    return nullptr;
  look(summary);
  return running.load(std::memory_order_acquire);
}

void look_for_others(PythonSummary& summary) { look(summary); }

uintptr_t thread_state_here(const Interpreter& interpreter, bool in_signal, PythonReading& scratch,
                            PythonSummary& summary) {
  const uintptr_t state =
      interpreter.layout.threads != 0 ? listed_state(interpreter) : kept_state(interpreter, scratch, summary);
  if (state == 0 || (state == known.wanting && known.times >= kMostTimes)) return 0;
  if (is_finalizing(interpreter, state)) return 0;
  if (state != known.state || !is_own(interpreter, state)) {
    if (check(interpreter, state, scratch) != Check::good) {
      __atomic_fetch_add(&summary.unreadable, 1, __ATOMIC_RELAXED);
      known = {0, state, known.wanting == state ? known.times + 1 : 1};
      return 0;
    }
    known = {state, known.wanting, known.times};
    note_state(state);
    summary.state = static_cast<uint32_t>(PythonState::read);
  }
  if (!in_signal) publish(interpreter, summary.version, state);
  return state;
}

void check_thread_state_again() { known.state = 0; }

}  // namespace diogenes::python
