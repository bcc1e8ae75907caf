#include "gpu_times/driver_gate.h"

#include <unistd.h>

#include <atomic>

#include "gpu_times/waiting.h"

namespace diogenes::driver_gate {
namespace {

constexpr int64_t kLongestStay = 10 * kSecond;

// All of it is sequentially consistent: either a thread that enters sees that the gate is closed, or it is seen.
thread_local int own_calls __attribute__((tls_model("initial-exec"))) = 0;  // that this thread is in
thread_local bool closed_it __attribute__((tls_model("initial-exec"))) = false;
std::atomic<int> calls_inside{0};  // of all threads
std::atomic<pid_t> closed_for{0};  // 0: open. A child of a fork has nobody who would open it.

bool is_open() {
  const pid_t process = closed_for.load();
  return process == 0 || process != getpid();
}

}  // namespace

void pass(bool enters) {
  if (closed_it) return;
  if (!enters) {
    if (own_calls > 0) --own_calls, --calls_inside;
    return;
  }
  ++own_calls;
  ++calls_inside;
  while (!is_open()) {
    --calls_inside;
    const bool open = wait_until(is_open, kLongestStay);
    ++calls_inside;
    if (!open) return;
  }
}

Closed::Closed(int64_t longest) {
  const int64_t begin = now_ns();
  const auto close = [] {
    pid_t open = 0;
    return closed_for.compare_exchange_strong(open, getpid());
  };
  closed_ = wait_until(close, longest);
  if (!closed_) return;
  const auto no_other_is_inside = [] { return calls_inside == own_calls; };
  closed_it = alone_ = wait_until(no_other_is_inside, longest - (now_ns() - begin));
}

Closed::~Closed() {
  if (alone_) closed_it = false;
  if (closed_) closed_for.store(0);
}

}  // namespace diogenes::driver_gate
