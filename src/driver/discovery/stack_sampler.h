// The stack of another thread of this process, taken by a signal. For the discovery child, which owns its
// process: the handler uses libgcc's unwinder, which the agent would not dare. One sampler and one sample at
// a time.
#pragma once
#include <pthread.h>

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace diogenes {

class StackSampler {
 public:
  static Status prepare();  // once, before the first sample: the handler, the unwinder's own start

  // Code addresses, innermost first; for frames that have called, the address is inside the call instruction.
  // Empty where the thread did not answer in time.
  static std::vector<uintptr_t> sample(pthread_t thread, Nanoseconds patience);
};

}  // namespace diogenes
