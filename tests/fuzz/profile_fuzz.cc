// The files `kernels` (trace/kernel_table.h), `cpu-samples` (trace/cpu_samples.h) and `python-samples` (trace/python_samples.h).
// The input's first byte says which: 'k', 's' or 'y'; the file follows.
#include "target.h"
#include "trace/cpu_samples.h"
#include "trace/kernel_table.h"
#include "trace/python_samples.h"

namespace diogenes::fuzz {
namespace {

uint64_t sum = 0;

void read_kernels(const std::filesystem::path& path, size_t bytes) {
  Result<MappedFile> file = MappedFile::open(path);
  require(file.ok(), "a file that is there can be opened");
  const KernelTable table(std::move(*file));
  require(table.rest() <= bytes, "no more is left than there was");
  for (const uint32_t number : {0u, 1u, 2u, 3u, 1000u, ~0u}) {
    const KernelTable::Launch& launch = table[number];
    for (const char c : launch.name) sum += static_cast<uint8_t>(c);
    sum += launch.shape.grid[0] + launch.shape.dynamic_shared;
  }
}

void read_samples(const std::filesystem::path& path) {
  Result<CpuSamples> samples = CpuSamples::open(path);
  require(samples.ok(), "a file that is there can be opened");
  for (const CpuSample& sample : samples->all()) {
    require(sample.record->pid != 0 && sample.record->weight_ns > 0,
            "a sample stands for some time of a process");
    require(sample.stack.size() <= kSampledStack, "no stack is longer than is taken");
    for (const std::byte byte : sample.stack) sum += static_cast<uint8_t>(byte);
  }
}

void read_python(const std::filesystem::path& path) {
  Result<PythonSamples> samples = PythonSamples::open(path);
  require(samples.ok(), "a file that is there can be opened");
  for (const PythonSample& sample : samples->all()) {
    require(!sample.frames.empty() && sample.frames.size() <= PythonSamples::kMostFrames,
            "a reading has frames, and not too many");
    for (const uint64_t frame : sample.frames) sum += frame;
  }
}

}  // namespace

void run_on(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  const std::filesystem::path file = scratch_folder() / "file";
  write_file(file, bytes.subspan(1));
  if (bytes[0] == 'k') read_kernels(file, bytes.size() - 1);
  if (bytes[0] == 's') read_samples(file);
  if (bytes[0] == 'y') read_python(file);
}

}  // namespace diogenes::fuzz
