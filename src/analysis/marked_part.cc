#include "analysis/marked_part.h"

#include <algorithm>
#include <vector>

namespace diogenes {
namespace {

struct Mark {
  Nanoseconds at;
  bool begins = false;
};

struct Interval {
  Nanoseconds begin, end;
};

std::vector<Interval> parts_of(const Process& process, const SiteTable& sites) {
  std::vector<Mark> marks;
  Nanoseconds last;
  for (const Thread& thread : process.threads)
    for (const Operation& operation : thread.operations) {
      last = std::max(last, operation.end());
      const DriverFunction* function = function_of(sites[operation.site]);
      if (!function || operation.has(kFailed)) continue;
      if (function->has(Trait::begins_region)) marks.push_back({operation.end(), true});
      if (function->has(Trait::ends_region)) marks.push_back({operation.begin, false});
    }
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.at < b.at; });
  std::vector<Interval> parts;
  bool inside = false;
  for (const Mark& mark : marks) {
    if (mark.begins && !inside) parts.push_back({mark.at, last});
    if (!mark.begins && inside) parts.back().end = mark.at;
    inside = mark.begins;
  }
  return parts;
}

}  // namespace

std::optional<MarkedPart> mark_what_is_outside(Run& tracing, const SiteTable& sites) {
  std::vector<std::vector<Interval>> parts;
  MarkedPart all;
  for (const Process& process : tracing.processes) {
    parts.push_back(parts_of(process, sites));
    Nanoseconds time;
    for (const Interval& part : parts.back()) time += part.end - part.begin;
    all.times += parts.back().size();
    all.time = std::max(all.time, time);
  }
  if (all.times == 0) return std::nullopt;
  for (size_t i = 0; i < parts.size(); ++i)
    for (Thread& thread : tracing.processes[i].threads) {
      auto part = parts[i].begin();
      for (Operation& operation : thread.operations) {
        while (part != parts[i].end() && part->end <= operation.begin) ++part;
        operation.outside = part == parts[i].end() || operation.begin < part->begin;
      }
    }
  return all;
}

}  // namespace diogenes
