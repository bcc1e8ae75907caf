// Samples by the kernel that they belong to. In: what each process's samples are (trace/gpu_samples.h), and the files of code
// beside them, which nobody has checked. Out: for each kernel its samples by content of code: the same code that was loaded 200
// times, or in several processes, is one. A kernel may have several contents. Device functions lie in their kernel's section; of
// those in a section of their own (-rdc=true) it is not known which kernel called them.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/cubins/cubin.h"
#include "analysis/kernel_samples/function_tree.h"
#include "analysis/kernel_samples/sample_counts.h"
#include "trace/gpu_samples.h"

namespace diogenes {

struct ProcessGpuSamples {
  GpuSamples samples;
  std::filesystem::path folder;  // that GpuSamples::Module::code is in; empty: that is a whole path
  uint32_t process = 0;          // position in Run::processes
};

// How long a kernel ran while it was sampled (sampled_time.h).
struct SampledTime {
  uint64_t launches = 0;
  // Of all multiprocessors of the GPU together, whether the kernel used them or not; 0: the clock is not known.
  double cycles = 0;
  // That samples stand for: in which a multiprocessor had a warp of the kernel, by sample; 0: not known.
  double cycles_a_sample = 0;
};

struct SampledKernel {
  struct Part {
    const Cubin* cubin = nullptr;
    GpuFunctionIndex kernel;
    std::vector<InstructionSample> samples;  // by function and offset
  };
  std::vector<Part> parts;
  SampleCounts without_code;  // of which no more is known than the kernel
  std::string why_none;       // then: a sentence
};

struct SampledCode {
  std::vector<std::unique_ptr<Cubin>> cubins;    // by content; that the others point to
  std::vector<std::string> reasons;              // by number, of all processes
  std::map<std::string, SampledKernel> kernels;  // by mangled name
  SampleCounts of_no_kernel;                     // of functions that are linked apart
  uint32_t issued = 0, not_selected = 0;         // reasons, by number
};

SampledCode sort_samples(std::span<const ProcessGpuSamples> processes);

}  // namespace diogenes
