#include "analysis/findings/turns.h"

namespace diogenes {
namespace {

constexpr uint32_t kMostCalls = 256, kMostKernels = 24;  // of a turn
constexpr Bytes kMostBytes{4096};                        // that it brings
constexpr uint64_t kFewestLoops = 10;

bool is_turn(const std::vector<Operation>& operations, const SiteTable& sites, uint32_t before, uint32_t wait,
             const InFunctionOf& in_function_of) {
  if (wait - before > kMostCalls) return false;
  uint32_t kernels = 0;
  Bytes bytes;
  for (uint32_t i = before + 1; i <= wait; ++i) {
    const Operation& operation = operations[i];
    if (operation.outside || !in_function_of(operation.site, operations[before].site)) return false;
    const DriverFunction* function = function_of(sites[operation.site]);
    if (!function) continue;
    if (function->role == Role::graph_launch) return false;
    if (function->role == Role::launch && ++kernels > kMostKernels) return false;
    if (function->role != Role::transfer) continue;
    if (function->direction == Direction::host_to_device) return false;
    if (function->direction == Direction::device_to_host) bytes += operation.bytes;
  }
  return bytes <= kMostBytes;
}

}  // namespace

Turns turns_of(const std::vector<Operation>& operations, const SiteTable& sites,
               const std::vector<uint32_t>& waits, const InFunctionOf& in_function_of) {
  Turns turns;
  bool in_loop = false;
  for (size_t k = 1; k < waits.size(); ++k) {
    const bool again = is_turn(operations, sites, waits[k - 1], waits[k], in_function_of);
    if (again) {
      turns.all.push_back({waits[k - 1] + 1, waits[k]});
      turns.loops += !in_loop;
    }
    in_loop = again;
  }
  return turns.loops < kFewestLoops ? Turns{} : turns;
}

}  // namespace diogenes
