// Where time went: what the views show of it. In: joined runs with what the GPU worked on, names of stacks, what is found.
// Out: the report's profile.
#pragma once
#include <functional>
#include <map>
#include <span>

#include "analysis/kernel_samples/kernel_samples.h"
#include "analysis/profile/contexts.h"
#include "analysis/profile/what_if.h"
#include "analysis/symbols/stack_names.h"

namespace diogenes {

// What needs no model, and can be made beside it. `names` learns all stacks and samples; out: where the CPU was, by process.
// `samples` null: it was not sampled.
std::vector<std::vector<UnwoundSample>> find_names(const Run& tracing, const SiteTable& sites,
                                                   StackNames& names, const CpuSamples* samples);
// When the GPU had nothing to do, by process.
std::vector<GpuIdle> find_idle(const Run& tracing, const replay::Schedules& schedules);

struct ProfileInput {
  const Run& tracing;
  const SiteTable& sites;
  const GpuWorkFound* work = nullptr;  // null: when GPU work ran is not known
  StackNames& names;
  std::function<const Replay*()>
      replay;                           // asked for on another thread; none: nothing is said of shorter work
  const Replay::Made* fixed = nullptr;  // the report's problems, fixed; null: there are none
  std::map<uint32_t, double> recoverable_s;  // by site: what fixing its problem gains
  std::optional<MainLoop> loop = {};         // the program's
  // Asked for once, while the replays of shorter work go on.
  std::function<std::vector<std::vector<UnwoundSample>>()> samples;  // find_names()
  std::function<std::vector<GpuIdle>()> idle;  // find_idle(); nothing: when GPU work ran is not known
  std::span<const ProcessGpuSamples> gpu_samples = {};  // of all processes; none: the GPU was not sampled
  const std::map<std::string, SampledTime>* sampled_time = nullptr;  // find_sampled_time()
  // Lines of a file, from `first` to `last`; null: source is not shown.
  std::function<ReportSource(const std::string& file, int first, int last)> source = {};
};

ReportProfile make_profile(ProfileInput input);

// "axpy<float>", "copy to the GPU": what a timeline calls it.
std::string work_name(const GpuWorkItem& item);

}  // namespace diogenes
