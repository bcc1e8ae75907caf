// What lies inside kernels, by samples: functions, inlined frames, loops and lines, each with why its warps did not go on. In:
// samples of all processes, with the folders that their code lies in; the kernels that the report shows. Out: what it shows
// of each that was sampled. Source: Zhou, Krentel, Mellor-Crummey (ICS'20), sections 5.2.2 and 5.2.3.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/kernel_samples/sampled_code.h"
#include "analysis/report/report_kernel.h"

namespace diogenes {

struct KernelAsked {
  std::string name;              // mangled, as it was recorded
  uint32_t threads_a_block = 0;  // of the shape that took longest; 0: not known
  SampledTime sampled = {};
};

struct KernelSamplesFound {
  std::map<std::string, ReportKernelSamples> kernels;  // by mangled name
  std::vector<std::string> notes;                      // what the reader must know of all, a sentence each
  std::string no_samples;  // why there are none, and what to do; "": there are some, or nobody asked
};

// `kernels`: those with the most GPU time first; so many of them are looked into. Nothing is done where there are no samples.
KernelSamplesFound find_kernel_samples(std::span<const ProcessGpuSamples> processes,
                                       std::span<const KernelAsked> kernels);

// Lines of a file, each with the kernel's samples there, wherever it is inlined.
ReportSampledSource with_samples(const ReportKernelSamples& kernel, const std::string& file, int first,
                                 const std::vector<std::string>& lines);

}  // namespace diogenes
