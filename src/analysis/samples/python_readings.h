// Samples of the CPU with lines of Python: a copied stack leads into the interpreter and no further, so what was read of its frames
// meanwhile is added (trace/python_sample_records.h). In: a process's readings, its samples, its calls. Out: samples whose outer frames are
// Python's. Where the CPU was not sampled, the readings alone.
//
// A reading is another moment than a sample, by up to 5 ms. It belongs to a sample if the thread called the driver neither in one
// nor between them, so that both are in the same stretch of the program's own work.
#pragma once
#include <vector>

#include "analysis/runs/run.h"
#include "analysis/samples/unwind.h"

namespace diogenes {

// By time; none where nothing was read.
std::vector<UnwoundSample> python_readings(const ProcessTrace& process);

// `samples`: of this process alone, by time.
void add_python(const Process& process, std::vector<UnwoundSample> readings,
                std::vector<UnwoundSample>& samples);

}  // namespace diogenes
