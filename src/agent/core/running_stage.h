// Which stage this process runs, as its plan says. Read from the environment before main.
#pragma once
#include <cstdint>

#include "ffm/plan.h"

namespace diogenes::agent {

struct MappedPlan {
  const Plan* plan = nullptr;  // null: no plan, the agent does nothing
  const HookSite* hooks = nullptr;
  char folder[480] = {};  // of the stage: the plan file's
};

// Maps the file that DIOGENES_PLAN names and checks it. Once, at start.
bool load_plan();
const MappedPlan& plan();

// The plan asks for the GPU's own times.
bool takes_gpu_times();

// True in stages 3 and 4, and where waits are corrected; from process start on.
bool stage_uses_guards();

// True in stages 2, 3 and 4: who let whom go on is recorded (order/order.h).
bool stage_follows_threads();

}  // namespace diogenes::agent
