// Samples of the GPU's instruction pointers that a file makes up, since the simulated GPU has no instructions: as many for each
// launch of a kernel. They go the way of real ones (driver/gpu_samples_file.h, driver/kept_code.h).
//
// DIOGENES_SIMULATED_SAMPLES names the file. Its lines:
//   code FILE                      a cubin; what follows lies in it
//   kernel NAME SYMBOL             launches of the simulated kernel NAME are told as SYMBOL's of that code
//   sample OFFSET REASON ALL LATE  of each of them, OFFSET bytes (hexadecimal) behind where SYMBOL begins; LATE of ALL are latency
//                                  samples. REASON as CUPTI names it, without what all have in front.
#pragma once

namespace diogenes::sim {

// By gpu_times_table.cc, its lock held. Without the variable, or where nobody asked for samples, they do nothing. A file that
// cannot be read ends the process.
void start_gpu_samples(const char* folder);
const char* told_name(const char* kernel);
void sample_launch(const char* kernel);

}  // namespace diogenes::sim
