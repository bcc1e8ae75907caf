#include "analysis/program/profiled_span.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

namespace diogenes {
namespace {

struct Interval {
  Nanoseconds begin, end;
};

using Parts = std::vector<Interval>;

Parts spans_of(const Process& process, const SiteTable& sites) {
  std::vector<RangeMark> marks;
  Nanoseconds last;
  for (const Thread& thread : process.threads)
    for (const Operation& operation : thread.operations) {
      last = std::max(last, operation.end());
      const DriverFunction* function = function_of(sites[operation.site]);
      if (!function || operation.has(kFailed)) continue;
      if (function->has(Trait::begins_profiling)) marks.push_back({operation.end(), true});
      if (function->has(Trait::ends_profiling)) marks.push_back({operation.begin, false});
    }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const RangeMark& a, const RangeMark& b) { return a.at < b.at; });
  Parts spans;
  bool inside = false;
  for (const RangeMark& mark : marks) {
    if (mark.begins && !inside) spans.push_back({mark.at, last});
    if (!mark.begins && inside) spans.back().end = mark.at;
    inside = mark.begins;
  }
  return spans;
}

Nanoseconds last_end(const Process& process) {
  Nanoseconds last;
  for (const Thread& thread : process.threads)
    for (const Operation& operation : thread.operations) last = std::max(last, operation.end());
  return last;
}

// Ends without a begin are ignored: their begin was lost. At the same time, what begins comes first: one range takes over from
// another.
Parts spans_of_ranges(const Process& process) {
  const Nanoseconds last = last_end(process);
  std::vector<RangeMark> marks = process.range_marks;
  std::sort(marks.begin(), marks.end(), [](const RangeMark& a, const RangeMark& b) {
    return std::tie(a.at, b.begins) < std::tie(b.at, a.begins);
  });
  Parts spans;
  int64_t open = 0;
  for (const RangeMark& mark : marks) {
    if (mark.begins && open++ == 0) spans.push_back({mark.at, std::max(mark.at, last)});
    if (!mark.begins && open > 0 && --open == 0) spans.back().end = mark.at;
  }
  return last.count > 0 ? spans : Parts{};
}

// `parts`: of each process of the run, by time.
std::optional<ProfiledSpan> mark(Run& tracing, const std::vector<Parts>& spans) {
  ProfiledSpan all;
  for (const Parts& of_process : spans) {
    Nanoseconds time;
    for (const Interval& span : of_process) time += span.end - span.begin;
    all.times += of_process.size();
    all.time = std::max(all.time, time);
  }
  if (all.times == 0) return std::nullopt;
  for (size_t i = 0; i < spans.size(); ++i)
    for (Thread& thread : tracing.processes[i].threads) {
      auto span = spans[i].begin();
      for (Operation& operation : thread.operations) {
        while (span != spans[i].end() && span->end <= operation.begin) ++span;
        operation.outside = span == spans[i].end() || operation.begin < span->begin;
      }
    }
  return all;
}

}  // namespace

std::optional<ProfiledSpan> mark_what_is_outside(Run& tracing, const SiteTable& sites) {
  std::vector<Parts> spans;
  for (const Process& process : tracing.processes) spans.push_back(spans_of(process, sites));
  return mark(tracing, spans);
}

std::optional<ProfiledSpan> mark_what_is_outside_ranges(Run& tracing) {
  std::vector<Parts> spans;
  for (const Process& process : tracing.processes) spans.push_back(spans_of_ranges(process));
  return mark(tracing, spans);
}

std::string no_such_range(const std::string& region, const Run& tracing) {
  constexpr size_t kMostSaid = 12;
  std::set<std::string> names;
  bool entered = false;
  for (const Process& process : tracing.processes) {
    names.insert(process.other_ranges.begin(), process.other_ranges.end());
    entered |= !process.range_marks.empty();
  }
  std::string text = "no NVTX range '" + region + "' was entered";
  if (entered) return text + " in a process that uses CUDA";
  if (names.empty())
    return text + ", and no other was seen: does the program, or a library that it uses, call NVTX 3?";
  text += "; ranges that were: ";
  size_t said = 0;
  for (const std::string& name : names) {
    if (said == kMostSaid) break;
    text += (said++ > 0 ? ", '" : "'") + name + "'";
  }
  return names.size() > said ? text + " and more" : text;
}

}  // namespace diogenes
