#include "analysis/program/main_loop.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace diogenes {
namespace {

constexpr uint64_t kFewestCalls = 3;  // iterations
constexpr double kMost = 0.8;         // of the iterations are alike, and of the time lies in those
constexpr size_t kCandidates = 64;    // sites that may begin an iteration, tried at most

// From one call of the same site to the next.
struct Iteration {
  uint64_t hash = 0xcbf29ce484222325;  // of the sites in it, in their order
  uint64_t calls = 0;
  Nanoseconds time;
};

struct Alike {
  uint64_t count = 0, calls = 0;
  Nanoseconds time;
};

struct Busiest {
  const Thread* thread = nullptr;
  uint32_t process = 0;
};

Busiest busiest_thread(const Run& run) {
  Busiest busiest;
  Nanoseconds most;
  for (uint32_t process = 0; process < run.processes.size(); ++process)
    for (const Thread& thread : run.processes[process].threads) {
      Nanoseconds time;
      for (const Operation& operation : thread.operations)
        if (!operation.outside) time += operation.call;
      if (time > most) {
        most = time;
        busiest = {&thread, process};
      }
    }
  return busiest;
}

// The iterations that are alike most often, if a loop begins at this site. The last one is left out: it goes on to the
// program's end.
Alike most_alike(const std::vector<Operation>& operations, SiteIndex begin) {
  std::unordered_map<uint64_t, Alike> kinds;
  std::optional<Iteration> iteration;
  for (const Operation& operation : operations) {
    if (operation.outside) continue;
    if (operation.site == begin) {
      if (iteration) {
        Alike& alike = kinds[iteration->hash];
        ++alike.count;
        alike.calls = iteration->calls;
        alike.time += iteration->time;
      }
      iteration.emplace();
    }
    if (!iteration) continue;
    iteration->hash = (iteration->hash ^ operation.site.value) * 0x100000001b3;
    ++iteration->calls;
    iteration->time += operation.call;
  }
  Alike most;
  for (const auto& [hash, alike] : kinds)
    if (alike.count > most.count) most = alike;
  return most;
}

// From the first call of this site to `calls` calls from the last one on.
void set_extent(const std::vector<Operation>& operations, SiteIndex begin, MainLoop& loop) {
  size_t first = operations.size(), last = 0;
  for (size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].site != begin || operations[i].outside) continue;
    first = std::min(first, i);
    last = i;
  }
  loop.begin = operations[first].begin;
  const size_t behind = last + loop.calls;
  loop.end = behind < operations.size() ? operations[behind].begin : operations.back().end();
}

bool lies_in(const MainLoop& loop, const Operation& operation) {
  return operation.begin >= loop.begin && operation.begin < loop.end;
}

}  // namespace

std::optional<MainLoop> main_loop(const Run& tracing) {
  const auto [thread, process] = busiest_thread(tracing);
  if (!thread) return std::nullopt;
  std::unordered_map<uint32_t, uint64_t> counts;
  std::vector<SiteIndex> sites;  // in the order in which they are seen first
  Nanoseconds all;
  for (const Operation& operation : thread->operations) {
    if (operation.outside) continue;
    if (counts[operation.site.value]++ == 0) sites.push_back(operation.site);
    all += operation.call;
  }
  std::erase_if(sites, [&](SiteIndex site) { return counts[site.value] < kFewestCalls; });
  std::stable_sort(sites.begin(), sites.end(),
                   [&](SiteIndex a, SiteIndex b) { return counts[a.value] > counts[b.value]; });
  if (sites.size() > kCandidates) sites.resize(kCandidates);
  for (const SiteIndex site : sites) {
    const uint64_t count = counts[site.value];
    const Alike alike = most_alike(thread->operations, site);
    if (static_cast<double>(alike.count) >= kMost * static_cast<double>(count - 1) &&
        alike.time.seconds() >= kMost * all.seconds()) {
      MainLoop loop{count, alike.calls, process, {}, {}};
      set_extent(thread->operations, site, loop);
      return loop;
    }
  }
  return std::nullopt;
}

std::vector<Change> changes_in(const MainLoop& loop, const Run& tracing, const EventGraph& graph,
                               const std::vector<Change>& changes) {
  std::unordered_set<uint32_t> sites;
  for (const Thread& thread : tracing.processes[loop.process].threads)
    for (const Operation& operation : thread.operations)
      if (lies_in(loop, operation)) sites.insert(operation.site.value);
  std::vector<Change> inside;
  for (const Change& change : changes) {
    const auto [process, thread] = graph.origin[change.thread];
    const Operation& operation = tracing.processes[process].threads[thread].operations[change.operation];
    if (process == loop.process ? lies_in(loop, operation) : sites.contains(operation.site.value))
      inside.push_back(change);
  }
  return inside;
}

}  // namespace diogenes
