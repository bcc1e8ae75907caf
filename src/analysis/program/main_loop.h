// The program's main loop: the same chain of calls, over and over. In: the tracing run. Out: how often it ran, and what lies
// in it, so that a gain can be said for each iteration. It is the innermost loop that holds most of the time spent in the
// driver, in the thread that spends most there; a program without one, or with several of like weight, has none. Where the
// iterations differ, as those of PyTorch do, one that has about as many calls each time will do.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/benefit/benefit.h"
#include "analysis/runs/run.h"

namespace diogenes {

struct MainLoop {
  uint64_t iterations = 0;
  uint64_t calls = 0;      // of the driver in an iteration, as most of them are
  uint32_t process = 0;    // whose it is: position in Run::processes
  Nanoseconds begin, end;  // of all iterations; the last counts as being as long as most are
};

// Of a program that marks a part of its run, in that part.
std::optional<MainLoop> main_loop(const Run& tracing);

// Those changes that lie in the loop: in its process by time, whatever the thread; in others where the same call of the
// loop's process lies in it. In CPU order, as they are given.
std::vector<Change> changes_in(const MainLoop& loop, const Run& tracing, const EventGraph& graph,
                               const std::vector<Change>& changes);

}  // namespace diogenes
