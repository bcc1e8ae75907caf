#include "analysis/profile/gpu_idle.h"

#include <algorithm>

namespace diogenes {
namespace {

void add(std::vector<IdlePart>& parts, uint32_t operation, Meanwhile what, int64_t begin, int64_t end) {
  if (end > begin) parts.push_back({operation, what, begin, end});
}

// Of one call, and of what comes before it, what lies in [begin, end).
void add_call(std::vector<IdlePart>& parts, const std::vector<Operation>& operations, uint32_t number,
              int64_t begin, int64_t end) {
  const Operation& one = operations[number];
  const int64_t before = number > 0 ? operations[number - 1].end().count : begin;
  const int64_t waits = one.end().count - one.waited.count;
  const auto part = [&](Meanwhile what, int64_t from, int64_t until) {
    add(parts, number, what, std::max(from, begin), std::min(until, end));
  };
  part(Meanwhile::between, before, one.begin.count);
  part(Meanwhile::in_call, one.begin.count, waits);
  part(Meanwhile::wait_over, waits, one.end().count);
}

}  // namespace

GpuIdle find_gpu_idle(const Process& process, const SiteTable& sites) {
  GpuIdle found;
  found.by_thread.resize(process.threads.size());
  std::vector<PlacedWork> all;
  for (const auto& stream : place_gpu_work(process, sites).streams)
    all.insert(all.end(), stream.begin(), stream.end());
  if (all.empty()) return found;
  std::stable_sort(all.begin(), all.end(),
                   [](const PlacedWork& one, const PlacedWork& other) { return one.begin < other.begin; });
  const int64_t start = process.trace->process.started_ns;
  int64_t until = all.front().end;
  for (const PlacedWork& work : all) {
    if (work.begin > until) {
      found.idle.count += work.begin - until;
      found.by_thread[work.thread].push_back({until + start, work.begin + start, work.operation});
    }
    until = std::max(until, work.end);
  }
  found.phase = {until - all.front().begin};
  return found;
}

std::vector<IdlePart> parts_of(std::span<const IdleStretch> stretches,
                               const std::vector<Operation>& operations) {
  std::vector<IdlePart> parts;
  for (const IdleStretch& stretch : stretches) {
    if (stretch.operation >= operations.size()) continue;
    const int64_t gives = std::clamp(operations[stretch.operation].begin.count, stretch.begin, stretch.end);
    // The first call that ends in it; those before have nothing in it but what lies between.
    auto first = std::partition_point(operations.begin(), operations.begin() + stretch.operation,
                                      [&](const Operation& one) { return one.end().count <= stretch.begin; });
    for (auto one = first; one != operations.begin() + stretch.operation; ++one)
      add_call(parts, operations, static_cast<uint32_t>(one - operations.begin()), stretch.begin, gives);
    const int64_t before =
        stretch.operation > 0 ? operations[stretch.operation - 1].end().count : stretch.begin;
    add(parts, stretch.operation, Meanwhile::between, std::max(before, stretch.begin), gives);
    add(parts, stretch.operation, Meanwhile::launching, gives, stretch.end);
  }
  return parts;
}

}  // namespace diogenes
