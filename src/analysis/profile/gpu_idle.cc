#include "analysis/profile/gpu_idle.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <tuple>

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

using Stream = std::vector<PlacedWork>;

bool begins_before(const PlacedWork& one, const PlacedWork& other) { return one.begin < other.begin; }

// In the order in which it began; what began at once, in the order of its streams.
template <typename Visit>
void each_by_begin(std::vector<Stream> streams, Visit visit) {
  struct Rest {
    const PlacedWork* next;
    const PlacedWork* end;
    size_t stream;
  };
  const auto later = [](const Rest& one, const Rest& other) {
    return std::tuple(one.next->begin, one.stream) > std::tuple(other.next->begin, other.stream);
  };
  std::priority_queue<Rest, std::vector<Rest>, decltype(later)> rests(later);
  for (size_t s = 0; s < streams.size(); ++s) {
    Stream& stream = streams[s];
    if (!std::is_sorted(stream.begin(), stream.end(), begins_before))
      std::stable_sort(stream.begin(), stream.end(), begins_before);
    if (!stream.empty()) rests.push({stream.data(), stream.data() + stream.size(), s});
  }
  while (!rests.empty()) {
    Rest rest = rests.top();
    rests.pop();
    do visit(*rest.next++);
    while (rest.next != rest.end && (rests.empty() || later(rests.top(), rest)));
    if (rest.next != rest.end) rests.push(rest);
  }
}

}  // namespace

GpuIdle find_gpu_idle(const Process& process, const replay::Schedule& schedule) {
  GpuIdle found;
  found.by_thread.resize(process.threads.size());
  const int64_t start = process.trace->process.started_ns;
  std::optional<int64_t> first;
  int64_t until = 0;
  each_by_begin(place_gpu_work(process, schedule).streams, [&](const PlacedWork& work) {
    if (!first) first = work.begin, until = work.end;
    if (work.begin > until) {
      found.idle.count += work.begin - until;
      found.by_thread[work.thread].push_back({until + start, work.begin + start, work.operation});
    }
    until = std::max(until, work.end);
  });
  if (first) found.phase = {until - *first};
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
