// Makes the schedule (schedule.h) of one process. In: its operations of stage 2.
#pragma once
#include <memory>

#include "analysis/replay/recorded/schedule.h"

namespace diogenes::replay {

// Does a call of it give the GPU work that takes time?
bool is_gpu_work(const DriverFunction& function);

// Waits inside the driver's own threads are left out.
Schedule schedule_of(const Process& process, const SiteTable& sites, SleepCosts sleep_costs = {});

// Of each process of a run, for all who need them.
using Schedules = std::vector<std::shared_ptr<const Schedule>>;
Schedules schedules_of(const Run& run, const SiteTable& sites, const SleepCosts& sleep_costs = {});

// Sets what is inferred: main thread, starts and joins where none was recorded, end, idle waits, work that was not seen,
// what copies to pageable memory copy behind their wait.
void finish_schedule(Schedule& schedule);

}  // namespace diogenes::replay
