// Where time went: what the views show of it. In: joined runs with what the GPU worked on, names of stacks, what is found.
// Out: the report's profile.
#pragma once
#include <functional>
#include <map>

#include "analysis/profile/contexts.h"
#include "analysis/profile/what_if.h"
#include "analysis/symbols/stack_names.h"

namespace diogenes {

// What needs no model, and can be found beside it: where the CPU was, and when the GPU had nothing to do.
struct ProfileBasis {
  std::vector<std::vector<UnwoundSample>> samples;  // by process; empty: the CPU was not sampled
  std::vector<GpuIdle> idle;                        // by process; empty: when GPU work ran is not known
};
// Besides, `names` learns all stacks and samples. `samples` null: there are none.
ProfileBasis profile_basis(const Run& tracing, const SiteTable& sites, bool gpu_work_known, StackNames& names,
                           const CpuSamples* samples);

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
  ProfileBasis basis;
};

ReportProfile make_profile(ProfileInput input);

// "axpy<float>", "copy to the GPU": what a timeline calls it.
std::string work_name(const GpuWorkItem& item);

}  // namespace diogenes
