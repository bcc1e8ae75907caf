// Where the CPU was, some hundred times a second: the file `cpu-samples` in a run's folder, of all its processes. Written
// by the launcher, which samples from outside (launcher/sampling/); unwound by the analysis. A file that was cut is
// taken as far as it goes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"
#include "trace/mapped_file.h"

namespace diogenes {

inline constexpr const char* kCpuSamplesFile = "cpu-samples";
inline constexpr uint32_t kSampledStack = 8 << 10;  // bytes
inline constexpr int kSampledRegisters = 17;        // as DWARF numbers those of x86-64: rax to r15, rip

// [launcher/sampling -> analysis/samples] Followed by the bytes of the stack, from rsp on, padded to 8.
struct CpuSampleRecord {
  uint32_t pid = 0, tid = 0;  // pid 0 ends the file
  int64_t at_ns = 0;          // CLOCK_MONOTONIC
  int64_t weight_ns = 0;      // of CPU time that it stands for
  uint64_t registers[kSampledRegisters] = {};
  uint32_t stack_bytes = 0, reserved = 0;
};
static_assert(sizeof(CpuSampleRecord) == 168);

struct CpuSample {
  const CpuSampleRecord* record;
  std::span<const std::byte> stack;
};

class CpuSamples {
 public:
  // Error: no such file.
  static Result<CpuSamples> open(const std::filesystem::path& file);
  const std::vector<CpuSample>& all() const { return samples_; }

 private:
  MappedFile file_;
  std::vector<CpuSample> samples_;
};

}  // namespace diogenes
