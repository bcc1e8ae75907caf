#include "trace/python_samples.h"

#include <utility>

namespace diogenes {

namespace {
constexpr int64_t kLongestNs = 3'600'000'000'000;  // that one reading stands for
}

Result<PythonSamples> PythonSamples::open(const std::filesystem::path& path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file) return file.error();
  PythonSamples samples;
  samples.file_ = std::move(*file);
  const auto bytes = samples.file_.bytes();
  for (uint64_t at = 0; const auto* record = samples.file_.at<PythonSampleRecord>(at);) {
    at += sizeof *record;
    if (record->at_ns < 0 || record->weight_ns < 0 || record->weight_ns > kLongestNs || record->frames == 0 ||
        record->frames > kMostFrames || (bytes.size() - at) / sizeof(uint64_t) < record->frames)
      break;
    samples.samples_.push_back(
        {record, {reinterpret_cast<const uint64_t*>(bytes.data() + at), record->frames}});
    at += record->frames * sizeof(uint64_t);
  }
  return samples;
}

}  // namespace diogenes
