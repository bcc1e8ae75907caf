// How long kernels ran while the GPU was sampled, in cycles of its clock: what their samples are compared with. In: the run that
// was sampled, with GPU times; its samples; the clock's readings.
#pragma once
#include <map>
#include <span>
#include <string>

#include "analysis/kernel_samples/sampled_code.h"
#include "analysis/runs/run.h"
#include "trace/gpu_clocks.h"

namespace diogenes {

// By mangled name. Launches that ended later than sampling are in none.
std::map<std::string, SampledTime> find_sampled_time(const Run& run,
                                                     std::span<const ProcessGpuSamples> samples,
                                                     const GpuClocks& clocks);

}  // namespace diogenes
