// When the simulated GPU's work ran, for whoever asks (driver/gpu_times_source.h): the same records that a
// profiling interface gives of a real one. Nothing is kept before start().
#pragma once
#include "driver/gpu_times_source.h"

namespace diogenes::sim {

struct Op;

// For GpuTimesSource.
const char* start_gpu_times(const char* folder);
void note_operation(uint64_t operation);  // that the calling thread is in; 0: none
size_t take_gpu_times(GpuTime* times, size_t most);

// By the device, its lock held.
void note_submitted(Op& op);
void note_ended(const Op& op);

}  // namespace diogenes::sim
