// Is the adversarial mode (late.h) on, and what the device and every call tell it.
#pragma once
#include <atomic>
#include <cstdint>

namespace diogenes::sim {

inline bool late_mode = false;                     // set by cuInit
inline std::atomic<int64_t> late_last_call_ns{0};  // CLOCK_MONOTONIC, of the last call into the driver

// Above 0: this thread is in the driver, or is one of its own. What it calls is no touch.
inline constinit thread_local int late_inside_driver = 0;

}  // namespace diogenes::sim
