#include "analysis/profile/occupancy.h"

#include <algorithm>

namespace diogenes {
namespace {

constexpr uint32_t kWarp = 32, kRegisters = 64 << 10;  // of a multiprocessor
constexpr uint32_t kRegistersAtOnce = 256,
                   kSharedAtOnce = 128;  // what is given out at a time: to a warp, to a block
constexpr uint32_t kReserved = 1 << 10;  // shared memory that each block has for the system

struct Limits {
  int major, minor;
  uint32_t threads, blocks, shared;  // of a multiprocessor; shared: bytes
};
constexpr Limits kLimits[] = {
    {7, 0, 2048, 32, 96 << 10},   {7, 5, 1024, 16, 64 << 10},   {8, 0, 2048, 32, 164 << 10},
    {8, 6, 1536, 16, 100 << 10},  {8, 7, 1536, 16, 164 << 10},  {8, 9, 1536, 24, 100 << 10},
    {9, 0, 2048, 32, 228 << 10},  {10, 0, 2048, 32, 228 << 10}, {10, 3, 2048, 32, 228 << 10},
    {12, 0, 1536, 24, 100 << 10},
};

constexpr uint64_t up_to(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

}  // namespace

std::optional<ReportOccupancy> occupancy_of(const LaunchShape& shape, int major, int minor) {
  const auto* limits = std::find_if(std::begin(kLimits), std::end(kLimits), [&](const Limits& one) {
    return one.major == major && one.minor == minor;
  });
  const uint64_t threads = uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  if (limits == std::end(kLimits) || threads == 0 || threads > 1024 || shape.registers > 255)
    return std::nullopt;
  const uint64_t warps = up_to(threads, kWarp) / kWarp, most = limits->threads / kWarp;
  // The first that is least names the limit.
  uint64_t blocks = most / warps;
  const char* limiter = "threads of a block";
  const auto limit = [&](uint64_t by, const char* name) {
    if (by >= blocks) return;
    blocks = by;
    limiter = name;
  };
  limit(limits->blocks, "blocks");
  if (shape.registers > 0)
    limit(kRegisters / up_to(uint64_t{shape.registers} * kWarp, kRegistersAtOnce) / 4 * 4 / warps,
          "registers");
  const uint64_t reserved = major >= 8 ? kReserved : 0;
  const uint64_t shared =
      up_to(uint64_t{shape.static_shared} + shape.dynamic_shared + reserved, kSharedAtOnce);
  if (shape.static_shared + uint64_t{shape.dynamic_shared} > 0)
    limit(limits->shared / shared, "shared memory");
  if (blocks == 0) return std::nullopt;  // it ran, so it had more than is known here
  const double percent = 100.0 * static_cast<double>(blocks * warps) / static_cast<double>(most);
  return ReportOccupancy{percent, percent >= 100 ? "" : limiter};
}

}  // namespace diogenes
