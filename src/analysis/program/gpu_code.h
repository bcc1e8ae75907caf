// For which GPUs a program or library was compiled, and where the driver has to compile PTX because code for the GPU at
// hand is missing. In: an ELF file's section .nv_fatbin: containers, one for each source file that nvcc compiled; in
// each, code for one architecture after the other (cubin), and PTX. Out: what a GPU would get of each container. The
// layout is that of the files that nvcc 13 writes (measured); damaged parts are left out. Source of the check: Welton
// and Miller, CCGrid'18, section VI.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace diogenes {

// 9.0 is an H200's.
struct ComputeCapability {
  int major = 0, minor = 0;
};

struct GpuCode {
  // On which GPUs beside the very one: sm_90 runs on all of 9.x from 9.0 on, sm_100f on those of its family, sm_90a
  // on no other.
  enum class Reach : uint8_t { portable, family, exact };
  bool ptx = false;
  int architecture = 0;  // 90: sm_90, or compute_90 where it is PTX
  Reach reach = Reach::portable;

  bool runs_on(ComputeCapability gpu) const;  // PTX: once it is compiled
  std::string name() const;                   // "sm_90a", "compute_90"
};

using FatBinary = std::vector<GpuCode>;

std::vector<FatBinary> fat_binaries_of(std::span<const uint8_t> section);

// Empty: the file has none. Error: it cannot be read or is no ELF file.
Result<std::vector<FatBinary>> read_fat_binaries(const std::filesystem::path& file);

// What one GPU gets of a file.
struct GpuCodeFit {
  size_t native = 0;                   // containers with code that runs as it is
  size_t compiled = 0;                 // that have to be compiled from PTX
  size_t neither = 0;                  // with nothing for this GPU
  std::vector<std::string> built_for;  // what those `compiled` have: "sm_70", "compute_75"
};
GpuCodeFit fit_of(const std::vector<FatBinary>& binaries, ComputeCapability gpu);

// What to do about a file without code for it: the application's own, or a library.
std::string advice_for_file(bool own, ComputeCapability gpu);

// What to give to the compiler: "-gencode arch=compute_90,code=sm_90 (CMake: CMAKE_CUDA_ARCHITECTURES=90)".
std::string compiler_options_for(ComputeCapability gpu);

}  // namespace diogenes
