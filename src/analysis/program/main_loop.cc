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
// Of a loop whose iterations differ.
constexpr uint64_t kFewestThatDiffer = 10;  // iterations
constexpr size_t kOfOneCount = 4;  // candidates: sites that are called as often are most often of one loop
constexpr double kLeastOfThread = 0.25;  // of the time from the thread's first call to its last

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

// Iterations that have about as many calls as the one in the middle, if a loop begins at this site. What is called for the first
// time counts for nothing: code is loaded then, and memory allocated.
Alike most_steady(const std::vector<Operation>& operations, SiteIndex begin,
                  const std::vector<bool>& first_time) {
  std::vector<Iteration> iterations;
  for (size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].outside) continue;
    if (operations[i].site == begin) iterations.emplace_back();
    if (iterations.empty()) continue;
    ++iterations.back().calls;
    if (!first_time[i]) iterations.back().time += operations[i].call;
  }
  Alike steady;
  if (iterations.size() < kFewestThatDiffer) return steady;
  iterations.pop_back();
  const auto middle = iterations.begin() + static_cast<ptrdiff_t>(iterations.size() / 2);
  std::nth_element(iterations.begin(), middle, iterations.end(),
                   [](const Iteration& one, const Iteration& other) { return one.calls < other.calls; });
  steady.calls = middle->calls;
  for (const Iteration& one : iterations) {
    if (3 * one.calls < 2 * steady.calls || 2 * one.calls > 3 * steady.calls) continue;
    ++steady.count;
    steady.time += one.time;
  }
  return steady;
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

namespace {

using Counts = std::unordered_map<uint32_t, uint64_t>;  // by site

bool holds_the_time(const Alike& alike, uint64_t count, Nanoseconds all) {
  return static_cast<double>(alike.count) >= kMost * static_cast<double>(count - 1) &&
         alike.time.seconds() >= kMost * all.seconds();
}

MainLoop loop_of(const Busiest& busiest, SiteIndex begin, uint64_t count, const Alike& alike) {
  MainLoop loop{count, alike.calls, busiest.process, {}, {}};
  set_extent(busiest.thread->operations, begin, loop);
  return loop;
}

std::optional<MainLoop> loop_that_differs(const Busiest& busiest, const std::vector<SiteIndex>& sites,
                                          Counts& counts) {
  const std::vector<Operation>& operations = busiest.thread->operations;
  std::vector<bool> first_time(operations.size());
  std::unordered_set<uint32_t> seen;
  Nanoseconds all;
  for (size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].outside) continue;
    first_time[i] = seen.insert(operations[i].site.value).second;
    if (!first_time[i]) all += operations[i].call;
  }
  const double whole = (operations.back().end() - operations.front().begin).seconds();
  std::unordered_map<uint64_t, size_t> of_count;
  size_t tried = 0;
  for (const SiteIndex site : sites) {
    const uint64_t count = counts[site.value];
    if (++of_count[count] > kOfOneCount) continue;
    if (++tried > kCandidates) break;
    const Alike steady = most_steady(operations, site, first_time);
    if (!holds_the_time(steady, count, all)) continue;
    const MainLoop loop = loop_of(busiest, site, count, steady);
    Nanoseconds last;  // what comes behind it may be no part of the loop
    for (const Operation& operation : operations)
      if (operation.site == site && !operation.outside) last = operation.begin;
    if ((last - loop.begin).seconds() >= kLeastOfThread * whole) return loop;
  }
  return std::nullopt;
}

}  // namespace

std::optional<MainLoop> main_loop(const Run& tracing) {
  const Busiest busiest = busiest_thread(tracing);
  if (!busiest.thread) return std::nullopt;
  Counts counts;
  std::vector<SiteIndex> sites;  // in the order in which they are seen first
  Nanoseconds all;
  for (const Operation& operation : busiest.thread->operations) {
    if (operation.outside) continue;
    if (counts[operation.site.value]++ == 0) sites.push_back(operation.site);
    all += operation.call;
  }
  std::erase_if(sites, [&](SiteIndex site) { return counts[site.value] < kFewestCalls; });
  std::stable_sort(sites.begin(), sites.end(),
                   [&](SiteIndex a, SiteIndex b) { return counts[a.value] > counts[b.value]; });
  for (size_t i = 0; i < sites.size() && i < kCandidates; ++i) {
    const uint64_t count = counts[sites[i].value];
    const Alike alike = most_alike(busiest.thread->operations, sites[i]);
    if (holds_the_time(alike, count, all)) return loop_of(busiest, sites[i], count, alike);
  }
  return loop_that_differs(busiest, sites, counts);
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
