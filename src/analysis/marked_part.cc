#include "analysis/marked_part.h"

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

Parts parts_of(const Process& process, const SiteTable& sites) {
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
  Parts parts;
  bool inside = false;
  for (const Mark& mark : marks) {
    if (mark.begins && !inside) parts.push_back({mark.at, last});
    if (!mark.begins && inside) parts.back().end = mark.at;
    inside = mark.begins;
  }
  return parts;
}

Nanoseconds last_end(const Process& process) {
  Nanoseconds last;
  for (const Thread& thread : process.threads)
    for (const Operation& operation : thread.operations) last = std::max(last, operation.end());
  return last;
}

// `file`: of one process; `over`: when that was over. Ends without a begin are ignored: their begin was lost.
void add_parts(const NvtxRanges& file, Nanoseconds over, Parts& parts) {
  int64_t open = 0;
  for (const NvtxRanges::Mark& mark : file.marks) {
    if (mark.change > 0 && open++ == 0) parts.push_back({mark.at, std::max(mark.at, over)});
    if (mark.change < 0 && open > 0 && --open == 0) parts.back().end = mark.at;
  }
}

// An exec keeps the process's id: the next program's file begins where the last one's ranges end.
Parts parts_of(const Process& process, std::span<const NvtxRanges> ranges) {
  const ProcessFile& described = process.trace->process;
  const Nanoseconds last = last_end(process);
  Parts parts;
  for (size_t i = 0; i < ranges.size(); ++i) {
    auto is_ours = [&](const NvtxRanges& file) {
      return file.pid == described.pid && file.host == described.host;
    };
    if (!is_ours(ranges[i])) continue;
    const bool replaced = i + 1 < ranges.size() && is_ours(ranges[i + 1]);
    add_parts(ranges[i], replaced ? std::min(last, ranges[i + 1].created) : last, parts);
  }
  return parts;
}

// `parts`: of each process of the run, by time.
std::optional<MarkedPart> mark(Run& tracing, const std::vector<Parts>& parts) {
  MarkedPart all;
  for (const Parts& of_process : parts) {
    Nanoseconds time;
    for (const Interval& part : of_process) time += part.end - part.begin;
    all.times += of_process.size();
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

}  // namespace

std::optional<MarkedPart> mark_what_is_outside(Run& tracing, const SiteTable& sites) {
  std::vector<Parts> parts;
  for (const Process& process : tracing.processes) parts.push_back(parts_of(process, sites));
  return mark(tracing, parts);
}

std::optional<MarkedPart> mark_what_is_outside(Run& tracing, std::span<const NvtxRanges> ranges) {
  std::vector<Parts> parts;
  for (const Process& process : tracing.processes) parts.push_back(parts_of(process, ranges));
  return mark(tracing, parts);
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
