#include "agent/hooks/hook_probe.h"

#include "base/units.h"

namespace diogenes::agent {

namespace {

constexpr int kRounds = 65;  // an odd number; the first few are slower

Nanoseconds probed;  // own time of the probed call that ended last, the wait in it included
int32_t inside_call = 0, inside_waiting_call = 0;

__attribute__((noinline)) void nothing() { asm volatile(""); }

}  // namespace

// The stubs below know them by name.
extern "C" {
void diogenes_probed_wait();
extern const Hook diogenes_probe_of_call, diogenes_probe_of_wait, diogenes_probe_of_waiting_call;
[[gnu::used]] const Hook diogenes_probe_of_call{reinterpret_cast<const void*>(&nothing), kProbedFunction};
[[gnu::used]] const Hook diogenes_probe_of_wait{reinterpret_cast<const void*>(&nothing), kWaitFunction};
[[gnu::used]] const Hook diogenes_probe_of_waiting_call{reinterpret_cast<const void*>(&diogenes_probed_wait),
                                                        kProbedFunction};

// As the stubs near the driver do it.
[[gnu::naked, gnu::noinline]] void diogenes_probed_wait() {
  asm volatile("lea diogenes_probe_of_wait(%rip), %r11; jmp diogenes_thunk");
}
[[gnu::naked, gnu::noinline]] void diogenes_probed_call() {
  asm volatile("lea diogenes_probe_of_call(%rip), %r11; jmp diogenes_thunk");
}
[[gnu::naked, gnu::noinline]] void diogenes_probed_waiting_call() {
  asm volatile("lea diogenes_probe_of_waiting_call(%rip), %r11; jmp diogenes_thunk");
}
}

namespace {

int32_t middle_of(void (*call)()) {
  int32_t times[kRounds];
  for (int i = 0; i < kRounds; ++i) {
    call();
    const auto time = static_cast<int32_t>(probed.count);
    int at = i;
    for (; at > 0 && times[at - 1] > time; --at) times[at] = times[at - 1];
    times[at] = time;
  }
  return times[kRounds / 2];
}

}  // namespace

void probe_hooks() {
  ThreadState& state = thread_state;
  const int32_t pass = state.pass;
  state.pass = 0;
  inside_call = middle_of(diogenes_probed_call);
  inside_waiting_call = middle_of(diogenes_probed_waiting_call);
  state.pass = pass;
}

int32_t cost_inside_call() { return inside_call; }
int32_t cost_inside_waiting_call() { return inside_waiting_call; }

int enter_probe(ThreadState& state, ThunkFrame* frame) {
  state.waited_ns = 0;
  state.flags = 0;
  state.public_depth = 1;
  frame->entered_ns = monotonic_now().count;
  return 1;
}

void exit_probe(ThreadState& state, ThunkFrame* frame) {
  probed = monotonic_now() - Nanoseconds{frame->entered_ns};
  state.public_depth = 0;
}

}  // namespace diogenes::agent
