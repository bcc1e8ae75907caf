// When GPU work ran, as the driver or a plug-in told in stage 3's run, or in a run of its own (`gpu-times`:
// the run of tracing again). In: that run, and stage 2's. Out: the GPU time of each operation of stage 2 (its
// counterpart's, by site and occurrence), and the machine's latencies. Optional: no model requires it.
#pragma once
#include "analysis/replay/recorded/make_schedule.h"
#include "analysis/replay/simulator.h"
#include "analysis/runs/join.h"

namespace diogenes {

struct GpuTimesFound {
  uint64_t known = 0, unknown = 0;  // operations of stage 2 that give the GPU work: with a time, without
  replay::Machine machine;          // where the times do not tell: as `assumed`
};

// Was asked for in this run, whatever came of it.
bool tells_gpu_times(const Run& run);

// Where records end while a graph runs, CUPTI may tell its end as of when they begin again (docs/driver-facts.md). Of the last
// recorded launches of graphs before a call of the thread that was left out, those whose work ended behind that call's begin and
// took far longer than their site's median count as left out, too.
void leave_out_late_ends(Run& run, const SiteTable& sites);

// Sets Operation::gpu in `tracing`. An operation without a counterpart gets its site's median; one that was left
// out (kUntimed) that of its stand-in (stand_ins.h); this wants both runs to be one. `made`: the schedules of `gpu_run`, where
// they are there already.
GpuTimesFound join_gpu_times(Run& tracing, const Run& gpu_run, const SiteTable& sites,
                             const replay::Machine& assumed, const replay::Schedules& made = {});

}  // namespace diogenes
