#include "agent/hooks/windows.h"

#include <atomic>

#include "agent/core/pass_through.h"
#include "agent/core/recording/gpu_times_recorder.h"
#include "agent/hooks/x86_64/patcher.h"
#include "agent/hooks/x86_64/thunk.h"
#include "agent/watching/guard/threads/threads.h"
#include "agent/watching/order/order.h"
#include "base/units.h"
#include "driver/catalogue.h"

namespace diogenes::agent {
namespace {

std::atomic<bool> recording{false};  // this process does, in a window
std::atomic<bool> ending{false};     // held by the thread that ends that

// The thunk asks for all calls where something was begun, which the next call behind the window ends.
void ask_for_each_call(bool each) {
  // relaxed: a thread that sees it late asks once too often, or records from its next call on.
  diogenes_gate.store(each ? static_cast<const void*>(&diogenes_gate) : &control_page->until_ns,
                      std::memory_order_relaxed);
  follow_order(each);
}

void end_recording() {
  // acquire and release: what one thread switched is seen by the next one that does.
  if (ending.exchange(true, std::memory_order_acquire)) return;
  PassThrough pass;
  enter_driver();
  if (recording.load(std::memory_order_relaxed) && pause_gpu_times()) {
    ask_for_each_call(false);
    // release: whoever begins again has the last word about the gate.
    recording.store(false, std::memory_order_release);
    // release: what was recorded is there for the launcher, which waits for this.
    control_page->recording.fetch_sub(1, std::memory_order_release);
  }
  leave_driver();
  ending.store(false, std::memory_order_release);
}

}  // namespace

bool in_window() {
  int64_t until = control_page->until_ns.load(std::memory_order_relaxed);
  if (until != 0 && monotonic_now().count <= until) {
    if (!recording.load(std::memory_order_relaxed) && !recording.exchange(true, std::memory_order_acquire)) {
      ask_for_each_call(true);
      control_page->recording.fetch_add(1, std::memory_order_relaxed);
    }
    return true;
  }
  // Whoever opened it is gone.
  if (until != 0) control_page->until_ns.compare_exchange_strong(until, 0, std::memory_order_relaxed);
  if (recording.load(std::memory_order_relaxed)) end_recording();
  return false;
}

bool is_followed_always(uint16_t function) {
  const DriverFunction* driver = driver_function(function);
  return driver && (driver->has(Trait::initializes) || driver->role == Role::capture);
}

void begin_windows() {
  if (control_page) ask_for_each_call(false);
}

void forget_windows() {
  begin_windows();
  if (control_page) count_no_calls();  // the file is the parent's
  recording.store(false, std::memory_order_relaxed);
  ending.store(false, std::memory_order_relaxed);
}

}  // namespace diogenes::agent
