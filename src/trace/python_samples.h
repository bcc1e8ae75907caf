// What was read of Python from outside of a program (python_sample_records.h), as far as the file goes.
#pragma once
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"
#include "trace/mapped_file.h"
#include "trace/python_sample_records.h"

namespace diogenes {

struct PythonSample {
  const PythonSampleRecord* record;
  std::span<const uint64_t> frames;
};

class PythonSamples {
 public:
  static constexpr uint32_t kMostFrames = 1024;
  // Error: no such file.
  static Result<PythonSamples> open(const std::filesystem::path& file);
  const std::vector<PythonSample>& all() const { return samples_; }

 private:
  MappedFile file_;
  std::vector<PythonSample> samples_;
};

}  // namespace diogenes
