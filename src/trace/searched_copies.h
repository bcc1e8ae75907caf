// Kernels may find addresses in what is copied to the device. The agent looks for those of host memory in copies of up to so many
// bytes, and the report says where there were larger ones.
#pragma once
#include <cstdint>

namespace diogenes {

inline constexpr uint64_t kMostSearched = 64 << 10;

}  // namespace diogenes
