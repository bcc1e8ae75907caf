#include "analysis/findings/library_parts.h"

#include <algorithm>

namespace diogenes {
namespace {

constexpr uint32_t kMostCalls = 128, kMostKernels = 24;

bool is_too_large(const std::vector<Operation>& operations, const SiteTable& sites, const LibraryPart& part) {
  if (part.last - part.begin >= kMostCalls) return true;
  uint32_t kernels = 0;
  for (uint32_t i = part.begin; i <= part.last; ++i) {
    const DriverFunction* function = function_of(sites[operations[i].site]);
    if (operations[i].outside || (function && function->role == Role::graph_launch)) return true;
    kernels += function && function->role == Role::launch;
  }
  return kernels > kMostKernels;
}

}  // namespace

std::vector<LibraryPart> library_parts_of(const std::vector<Operation>& operations, const SiteTable& sites,
                                          const std::vector<uint32_t>& waits,
                                          const InFunctionOf& in_part_of) {
  std::vector<LibraryPart> parts;
  uint32_t open = 0;  // no earlier call belongs to the next part
  for (const uint32_t wait : waits) {
    if (!parts.empty() && wait <= parts.back().last) {
      ++parts.back().waits;
      continue;
    }
    const SiteIndex site = operations[wait].site;
    const auto belongs = [&](uint32_t i) { return in_part_of(operations[i].site, site); };
    LibraryPart part{wait, wait, 1};
    while (part.begin > open && belongs(part.begin - 1)) --part.begin;
    while (part.last + 1 < operations.size() && belongs(part.last + 1)) ++part.last;
    open = part.last + 1;
    parts.push_back(part);
  }
  std::erase_if(parts, [&](const LibraryPart& part) { return is_too_large(operations, sites, part); });
  return parts;
}

}  // namespace diogenes
