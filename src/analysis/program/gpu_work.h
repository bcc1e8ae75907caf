// What the GPU worked on, by what it is (a kernel by its name, a copy by its direction, a fill) and by who gave it. In: a
// run with GPU times. Out: sums over all its processes; and of each operation, what its work consisted of, which is
// joined to the tracing run. Where only a part of the calls has times (kUntimed), the others of a call path count as those.
#pragma once
#include <string>
#include <vector>

#include "analysis/runs/run.h"

namespace diogenes {

// Given by one call over one stack.
struct GpuWorkPath {
  SiteIndex site;
  uint64_t count = 0;
  Nanoseconds time;
  std::vector<Nanoseconds> by_process;  // `time`, by position in Run::processes, up to the last that has any
};

// Launched in one shape.
struct GpuWorkShape {
  LaunchShape shape{};
  uint64_t count = 0;
  Nanoseconds time;
};

struct GpuWorkItem {
  GpuWork kind = GpuWork::other;
  std::string name;    // of a kernel, mangled; "": not known
  uint64_t count = 0;  // pieces
  Nanoseconds time;    // summed: pieces that ran side by side each
  Nanoseconds shortest, median, longest;
  Bytes bytes;                          // of copies and fills
  bool in_graphs = false;               // some of them are nodes of graphs
  std::vector<Nanoseconds> by_process;  // `time`, by position in Run::processes; those that have any
  std::vector<GpuWorkPath> paths;       // the longest first
  std::vector<GpuWorkShape> shapes;     // kernels: the longest first
};

// Of the time from the begin of an operation's first piece to the end of its last: the share in which pieces of this
// item ran and no others.
struct GpuShare {
  uint32_t item = 0;
  double alone = 1;
};

struct GpuWorkFound {
  static constexpr uint32_t kNoMix = UINT32_MAX;

  std::vector<GpuWorkItem> items;    // the longest first
  uint64_t pieces = 0, unnamed = 0;  // unnamed: kernels without a name
  // Calls that gave the GPU work, whose times were taken, and were left out.
  uint64_t timed = 0, untimed = 0;
  Nanoseconds time, busy;  // all; any of it ran (of several processes the sum)
  // What operations consist of. The first are those of one piece, by item; then those of several, a mean for each site.
  std::vector<std::vector<GpuShare>> mixes;
  // By process, thread and operation of the run: a number of `mixes`, or kNoMix.
  std::vector<std::vector<std::vector<uint32_t>>> mix_of;
};

GpuWorkFound find_gpu_work(const Run& gpu_run, const SiteTable& sites);

// Sets Thread::gpu_mix in `tracing`. An operation without a counterpart gets what its site's have most often. `found`
// loses its mix_of.
void join_gpu_work(Run& tracing, const Run& gpu_run, const SiteTable& sites, GpuWorkFound& found);

}  // namespace diogenes
