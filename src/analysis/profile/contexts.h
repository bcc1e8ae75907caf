// The tree of calling contexts over CPU and GPU. In: the tracing run, its stacks, what the GPU worked on. Out: the nodes of
// the report, a parent before its children, with times of the node alone.
//
// Time between two calls of the driver, of one thread, belongs to the innermost frame that the stacks of both have: it,
// or what it called meanwhile, had the CPU (or slept). A frame is the same where its function is, and the line at which
// its caller called it. Where both calls have the same stack, any of its frames may have looped; the time is that of the
// innermost frame of the application, with what it calls. What comes before a process's first call and behind its last
// one belongs to the whole program. Where the CPU was sampled, that time is shared out by the samples in it: what they
// have below that frame becomes contexts of its own, and what no sample stands for (it slept) stays where it is.
// HPCToolkit (ICS'20) has samples in the place of all this.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile/gpu_idle.h"
#include "analysis/program/gpu_work.h"
#include "analysis/program/main_loop.h"
#include "analysis/report/report_profile.h"
#include "analysis/samples/unwind.h"

namespace diogenes {

struct ContextInput {
  const Run& tracing;
  const GpuWorkFound* work = nullptr;                               // null: not known
  std::function<const std::vector<ReportFrame>&(SiteIndex)> stack;  // innermost first
  std::function<std::string(SiteIndex)> called;                     // the call as the program makes it
  std::function<std::string(uint32_t)> work_name;                   // of GpuWorkFound::items
  std::map<uint32_t, double> recoverable_s;                         // by site
  // Where the CPU was, by process; empty: it was not sampled.
  std::vector<std::vector<UnwoundSample>> samples = {};
  // What one frame of a process stands for; stays where it is, as the stacks do.
  std::function<const std::vector<ReportFrame>&(uint32_t, Frame)> named = {};
  std::vector<GpuIdle> idle = {};  // by process; empty: not known
  std::optional<MainLoop> loop = {};
};

// A sample of the CPU, of time in which the GPU had nothing to do.
struct IdleSample {
  uint32_t process = 0;
  const UnwoundSample* sample = nullptr;  // of the input
  double seconds = 0;                     // of that time
};

struct Contexts {
  std::vector<ReportContext> nodes;
  double threads_s = 0, recording_s = 0;
  ReportIdle idle;
  std::vector<IdleSample> idle_samples;  // of time between calls
  uint64_t samples = 0;                  // that lie between calls, or in threads without any
  // Of a GPU work item's path: its node.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> of_path;  // by item and site
};

Contexts find_contexts(const ContextInput& input);

// Keeps at most so many nodes: those with the most time; what is left out under a node is one `rest`. Positions change.
void keep_largest(Contexts& contexts, size_t most);

}  // namespace diogenes
