#include "analysis/program/profiled_span.h"

#include <algorithm>
#include <set>
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

using Parts = std::vector<Interval>;

Parts spans_of(const Process& process, const SiteTable& sites) {
  std::vector<Mark> marks;
  Nanoseconds last;
  for (const Thread& thread : process.threads)
    for (const Operation& operation : thread.operations) {
      last = std::max(last, operation.end());
      const DriverFunction* function = function_of(sites[operation.site]);
      if (!function || operation.has(kFailed)) continue;
      if (function->has(Trait::begins_profiling)) marks.push_back({operation.end(), true});
      if (function->has(Trait::ends_profiling)) marks.push_back({operation.begin, false});
    }
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.at < b.at; });
  Parts spans;
  bool inside = false;
  for (const Mark& mark : marks) {
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

// `file`: of one process; `over`: when that was over. Ends without a begin are ignored: their begin was lost.
void add_parts(const NvtxRanges& file, Nanoseconds over, Parts& spans) {
  int64_t open = 0;
  for (const NvtxRanges::Mark& mark : file.marks) {
    if (mark.change > 0 && open++ == 0) spans.push_back({mark.at, std::max(mark.at, over)});
    if (mark.change < 0 && open > 0 && --open == 0) spans.back().end = mark.at;
  }
}

// An exec keeps the process's id: the next program's file begins where the last one's ranges end.
Parts spans_of(const Process& process, std::span<const NvtxRanges> ranges) {
  const ProcessFile& described = process.trace->process;
  const Nanoseconds last = last_end(process);
  Parts spans;
  for (size_t i = 0; i < ranges.size(); ++i) {
    auto is_ours = [&](const NvtxRanges& file) {
      return file.pid == described.pid && file.host == described.host;
    };
    if (!is_ours(ranges[i])) continue;
    const bool replaced = i + 1 < ranges.size() && is_ours(ranges[i + 1]);
    add_parts(ranges[i], replaced ? std::min(last, ranges[i + 1].created) : last, spans);
  }
  return spans;
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

std::optional<ProfiledSpan> mark_what_is_outside(Run& tracing, std::span<const NvtxRanges> ranges) {
  std::vector<Parts> spans;
  for (const Process& process : tracing.processes) spans.push_back(spans_of(process, ranges));
  return mark(tracing, spans);
}

std::string no_such_range(const std::string& region, std::span<const NvtxRanges> ranges) {
  constexpr size_t kMostSaid = 12;
  std::set<std::string> names;
  bool entered = false, more = false;
  for (const NvtxRanges& file : ranges) {
    names.insert(file.names.begin(), file.names.end());
    more |= file.more_names;
    entered |= !file.marks.empty();
  }
  std::string text = "no NVTX range '" + region + "' was entered";
  if (entered) return text + " in a process that uses CUDA";
  if (names.empty())
    return text +
           ", and no other that could be heard: does the program call NVTX 3, in a library that was built with it?";
  text += "; ranges that were: ";
  size_t said = 0;
  for (const std::string& name : names) {
    if (said == kMostSaid) break;
    text += (said++ > 0 ? ", '" : "'") + name + "'";
  }
  return more || names.size() > said ? text + " and more" : text;
}

}  // namespace diogenes
