// The file `gpu-samples` (trace/gpu_samples.h).
#include <tuple>

#include "driver/gpu_samples_file.h"
#include "target.h"
#include "trace/gpu_samples.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  write_file(scratch_folder() / kGpuSamplesFile, bytes);
  std::vector<std::string> missing;
  const GpuSamples samples = read_gpu_samples(scratch_folder(), missing);
  require(missing.size() <= 1, "what is missing is said in one line");
  for (const std::string& line : missing) require(line.find('\n') == std::string::npos, "a line is one");
  for (const GpuSamples::Module& module : samples.modules)
    require(module.code.empty() != module.why_none.empty(), "a module has its code, or a sentence");
  uint64_t sum = 0;
  const GpuSamples::Instruction* before = nullptr;
  for (const GpuSamples::Instruction& one : samples.instructions) {
    require(one.module < samples.modules.size(), "an instruction lies in a module");
    require(one.function < samples.functions.size(), "an instruction lies in a function");
    require(!one.reasons.empty(), "an instruction has samples");
    const auto place = [](const GpuSamples::Instruction& i) {
      return std::tie(i.module, i.function, i.offset);
    };
    require(!before || place(*before) < place(one), "instructions are sorted, each once");
    before = &one;
    for (const GpuSamples::Reason& reason : one.reasons) {
      require(reason.reason < samples.reasons.size(), "a reason has a name");
      require(&reason == one.reasons.data() || (&reason)[-1].reason < reason.reason,
              "reasons are sorted, each once");
      require(reason.samples > 0 && reason.latency_samples <= reason.samples, "latency samples are samples");
      require(sum + reason.samples > sum, "sums stay inside 64 bits");
      sum += reason.samples;
    }
  }
}

}  // namespace diogenes::fuzz
