// Follows values: what src/values does behind the table of functions in trace/value_source.h. In: touches and SIGTRAPs of
// the calling thread. Out: a ValueRecord for each value that was followed.
#pragma once
#include "values/services.h"

namespace diogenes::values {

// Instructions of one stretch: from a touch to its consequence, or until a copy is watched instead.
inline constexpr uint32_t kWindow = 4000;
inline constexpr uint32_t kMostWatches = 4;  // of one value
inline constexpr uint32_t kMostOfPlace =
    12;  // touches of one stack that are followed: the first 4, then each time twice as late

bool start(const Services& services);
void touched(const TouchedValue& value, ucontext_t* context);
bool trap(const siginfo_t* info, ucontext_t* context);
void system_call(AddressRange memory, ucontext_t* context);
void interrupted(ucontext_t* context);
void finish();
void closing(uint64_t first, uint64_t last);
void forget();

}  // namespace diogenes::values
