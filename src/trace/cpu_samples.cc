#include "trace/cpu_samples.h"

#include <utility>

namespace diogenes {

Result<CpuSamples> CpuSamples::open(const std::filesystem::path& path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file) return file.error();
  CpuSamples samples;
  samples.file_ = std::move(*file);
  const auto bytes = samples.file_.bytes();
  for (uint64_t at = 0; const auto* record = samples.file_.at<CpuSampleRecord>(at);) {
    at += sizeof *record;
    if (record->pid == 0 || record->stack_bytes > kSampledStack || bytes.size() - at < record->stack_bytes)
      break;
    if (record->weight_ns <= 0 || record->at_ns < 0) break;
    samples.samples_.push_back({record, bytes.subspan(at, record->stack_bytes)});
    at += (uint64_t{record->stack_bytes} + 7) / 8 * 8;
    if (at > bytes.size()) break;
  }
  return samples;
}

}  // namespace diogenes
