// Does the driver have to compile code for the GPU? Of what a run had loaded, and of a program that has not run yet.
// In: the files, the GPU's compute capability. Out: those with PTX and nothing better for this GPU.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/program/gpu_code.h"
#include "trace/session.h"

namespace diogenes::launcher {

// Of all processes of a stage, each file once.
std::vector<GpuCodeRecord> files_to_compile(const std::filesystem::path& stage_folder);

struct ProgramCode {
  size_t files = 0;  // with GPU code
  std::vector<GpuCodeRecord> to_compile;
  std::vector<std::string> unusable;  // files whose code is all for other GPUs
};
// Of the program and the libraries that the dynamic linker would load with it; libraries that it opens later are not
// known.
ProgramCode gpu_code_of(const std::filesystem::path& program, ComputeCapability gpu);

}  // namespace diogenes::launcher
