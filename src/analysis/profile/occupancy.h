// How many threads of a kernel a multiprocessor can hold at a time, by what its launch asks for: theoretical occupancy.
// Source: CUDA C++ Programming Guide 13.0, table "Technical Specifications per Compute Capability", and the granularities
// of NVIDIA's occupancy calculator.
#pragma once
#include <optional>

#include "analysis/report/report_profile.h"
#include "driver/kernel_launches.h"

namespace diogenes {

// None: the GPU's limits are not known, or the shape is not.
std::optional<ReportOccupancy> occupancy_of(const LaunchShape& shape, int capability_major,
                                            int capability_minor);

}  // namespace diogenes
