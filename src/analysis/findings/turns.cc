#include "analysis/findings/turns.h"

namespace diogenes {
namespace {

constexpr uint32_t kMostCalls = 256, kMostKernels = 24;  // of a turn
constexpr Bytes kTooManyBytes{4096};                     // that it brings
constexpr uint64_t kFewestLoops = 10;

// From one wait of the line to the next. other: in the function, but no turn. elsewhere: calls are made outside of it.
enum class Between : uint8_t { turn, other, elsewhere };

Between between(const std::vector<Operation>& operations, const SiteTable& sites, uint32_t before,
                uint32_t wait, const InFunctionOf& in_function_of) {
  uint32_t kernels = 0;
  Bytes bytes;
  bool other = wait - before > kMostCalls;
  for (uint32_t i = before + 1; i <= wait; ++i) {
    const Operation& operation = operations[i];
    if (!in_function_of(operation.site, operations[before].site)) return Between::elsewhere;
    other = other || operation.outside;
    const DriverFunction* function = function_of(sites[operation.site]);
    if (!function || other) continue;
    kernels += function->role == Role::launch;
    const bool moves = function->role == Role::transfer;
    if (moves && function->direction == Direction::device_to_host) bytes += operation.bytes;
    other = kernels > kMostKernels || bytes >= kTooManyBytes || function->role == Role::graph_launch ||
            (moves && function->direction == Direction::host_to_device);
  }
  return other ? Between::other : Between::turn;
}

}  // namespace

Turns turns_of(const std::vector<Operation>& operations, const SiteTable& sites,
               const std::vector<uint32_t>& waits, const InFunctionOf& in_function_of) {
  Turns turns;
  bool in_loop = false;
  for (size_t k = 1; k < waits.size(); ++k) {
    const Between what = between(operations, sites, waits[k - 1], waits[k], in_function_of);
    if (what == Between::elsewhere) in_loop = false;
    if (what != Between::turn) continue;
    turns.all.push_back({waits[k - 1] + 1, waits[k]});
    turns.loops += !in_loop;
    in_loop = true;
  }
  return turns.loops < kFewestLoops ? Turns{} : turns;
}

}  // namespace diogenes
