// The plan of a run (ffm/plan.h), as the agent and as the analysis read it. No hook is installed.
#include <stdlib.h>
#include <sys/mman.h>

#include "agent/core/running_stage.h"
#include "target.h"
#include "trace/format.h"
#include "trace/plan_reader.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  const std::filesystem::path file = scratch_folder() / "plan";
  write_file(file, bytes);
  uint64_t sum = 0;
  for (uint16_t function : planned_functions(scratch_folder())) sum += function;
  setenv(kPlanVariable, file.c_str(), 1);
  if (!agent::load_plan()) return;
  const agent::MappedPlan& plan = agent::plan();
  require(plan.plan->hook_count <= kMaximumHooks, "no more hooks than the agent takes");
  require(plan.plan->build_id_length <= 20, "a build-id has 20 bytes or fewer");
  require(scratch_folder() == plan.folder, "the stage's folder is the plan's");
  for (uint32_t i = 0; i < plan.plan->hook_count; ++i) sum += plan.hooks[i].entry + plan.hooks[i].function;
  sum += agent::takes_gpu_times() + agent::stage_uses_guards();
  munmap(const_cast<Plan*>(plan.plan), bytes.size());
  asm volatile("" : : "r"(sum));
}

}  // namespace diogenes::fuzz
