// Code for GPUs in an ELF file (analysis/program/gpu_code.h): as a section's bytes, and as a file that libelf
// opens.
#include "analysis/program/gpu_code.h"
#include "target.h"

namespace diogenes::fuzz {
namespace {

void look_at(const std::vector<FatBinary>& binaries) {
  for (const ComputeCapability gpu : {ComputeCapability{7, 5}, {9, 0}, {10, 3}}) {
    const GpuCodeFit fit = fit_of(binaries, gpu);
    require(fit.native + fit.compiled + fit.neither == binaries.size(),
            "a GPU gets something of each container, or nothing");
    require(fit.built_for.empty() == (fit.compiled == 0),
            "what has to be compiled was built for something else");
  }
}

}  // namespace

void run_on(std::span<const uint8_t> bytes) {
  const std::vector<FatBinary> found = fat_binaries_of(bytes);
  for (const FatBinary& one : found) require(!one.empty(), "a container without code is left out");
  look_at(found);
  const std::filesystem::path file = scratch_folder() / "program";
  write_file(file, bytes);
  const Result<std::vector<FatBinary>> read = read_fat_binaries(file);
  if (!read)
    require(read.error().c_str()[0] != 0, "an error says something");
  else
    look_at(*read);
}

}  // namespace diogenes::fuzz
