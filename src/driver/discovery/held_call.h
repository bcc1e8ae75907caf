// One call, made on a thread of its own while a kernel holds the GPU: does it wait, and on which stack?
// The kernel is released after `hold`, or when the call has returned, or by the watchdog after 0.3 s.
#pragma once
#include <pthread.h>

#include <functional>
#include <string>
#include <vector>

#include "base/units.h"
#include "driver/discovery/waiting_calls.h"

namespace diogenes {

struct HoldOptions {
  Nanoseconds hold{100'000'000};
  bool sample = true;
  std::function<void(pthread_t)> before_call;  // runs on the calling thread, right before the call
};

struct HeldCall {
  std::string error;    // it could not be tried, or failed
  bool waited = false;  // had not returned at the release
  Nanoseconds held;     // from the call (queue: from the launch that did not return) to the release
  Nanoseconds lasted;   // the call's whole time (queue: of the launch that waited)
  std::vector<std::vector<uintptr_t>> samples;  // code addresses, innermost first
};

HeldCall hold_and_call(CallMaterial& material, const WaitingCall& call, const HoldOptions& options);

// Launches empty kernels behind the held one until a launch does not return, 4096 at most.
HeldCall hold_and_fill_queue(CallMaterial& material, const HoldOptions& options);

}  // namespace diogenes
