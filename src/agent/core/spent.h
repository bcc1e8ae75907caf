// What the agent took of the program's time: hooks and faults, summed over threads as if they took turns.
#pragma once
#include <atomic>

#include "base/units.h"

namespace diogenes::agent {

inline constinit std::atomic<int64_t> spent_ns{0};
inline void spend(Nanoseconds time) { spent_ns.fetch_add(time.count, std::memory_order_relaxed); }
inline constexpr Nanoseconds kSignal{3'000};  // that a handler is entered and left

}  // namespace diogenes::agent
