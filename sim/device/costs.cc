#include "costs.h"

#include <algorithm>
#include <iterator>

namespace diogenes::sim {
namespace {

// As measured; between two rows a straight line, beyond the last one the last slope.
struct Row {
  int64_t bytes, h2d_pageable, d2h_pageable, h2d_pinned, d2h_pinned;  // ns
};
constexpr Row kCopies[] = {
    {4, 6000, 8300, 6800, 7100},
    {4 << 10, 7700, 8600, 8600, 7300},
    {64 << 10, 20000, 16000, 9800, 8400},
    {1 << 20, 92000, 109000, 28000, 26000},
    {8 << 20, 620000, 676000, 160000, 159000},
};
constexpr int64_t kDeviceBytesPerMicrosecond = 2000000;  // 2 TB/s
// Not the H200's (52 GB/s): a link that the memory of the machines on which the simulator runs keeps up with,
// so that copies take what is modelled and not what a machine happens to need.
constexpr int64_t kLinkBytesPerMicrosecond = 8000;  // 8 GB/s

// What moves fewer bytes takes the simulator no time; other work takes this at least, while another
// processor's caches hold the bytes.
constexpr size_t kNegligible = 1024;
constexpr int64_t kFetch = 4000;  // ns

int64_t link_ns(size_t bytes) { return static_cast<int64_t>(bytes) * 1000 / kLinkBytesPerMicrosecond; }

}  // namespace

int64_t copy_call_ns(CopyDirection direction, HostMemory memory, size_t bytes) {
  int64_t Row::*column = direction == CopyDirection::host_to_device
                             ? (memory == HostMemory::pageable ? &Row::h2d_pageable : &Row::h2d_pinned)
                             : (memory == HostMemory::pageable ? &Row::d2h_pageable : &Row::d2h_pinned);
  const auto size = static_cast<int64_t>(bytes);
  const Row* upper = std::find_if(std::begin(kCopies) + 1, std::end(kCopies),
                                  [&](const Row& row) { return size <= row.bytes; });
  if (upper == std::end(kCopies)) --upper;
  const Row* lower = upper - 1;
  if (size <= lower->bytes) return lower->*column;
  const double slope = double(upper->*column - lower->*column) / double(upper->bytes - lower->bytes);
  const int64_t measured = lower->*column + static_cast<int64_t>(slope * double(size - lower->bytes));
  return std::max(measured, kSubmitCost + link_ns(bytes));
}

int64_t copy_engine_ns(CopyDirection direction, HostMemory memory, size_t bytes) {
  return std::max<int64_t>(copy_call_ns(direction, memory, bytes) - kSubmitCost, 1000);
}

int64_t device_copy_ns(size_t bytes) {
  return 1500 + static_cast<int64_t>(bytes) * 1000 / kDeviceBytesPerMicrosecond;
}

// Half the link's speed: sums and copies inside the device go through more hands. Small ones, too: those of a
// kernel of 16 KiB take 2 to 10 us, as the bytes lie in this processor's caches or in another's.
int64_t simulation_ns(size_t bytes) { return 2 * link_ns(bytes) + (bytes < kNegligible ? 0 : kFetch); }

}  // namespace diogenes::sim
