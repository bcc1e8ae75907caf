// Samples of the committed cubins (analysis/cubins/testdata), as the plug-in would have left them.
#pragma once
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "analysis/cubins/gpu_flow.h"
#include "analysis/cubins/testing/committed_cubin.h"
#include "analysis/kernel_samples/sampled_code.h"

namespace diogenes::testing {

// Of one process. Reasons: 0 selected, 1 not_selected, 2 long_scoreboard, 3 wait.
class SamplesOf {
 public:
  explicit SamplesOf(const std::string& cubin) : cubin_(committed_cubin(cubin)) {
    made_.folder = DIOGENES_CUBINS;
    made_.samples.reasons = {"selected", "not_selected", "long_scoreboard", "wait"};
    made_.samples.modules.push_back({cubin + ".cubin", ""});
  }

  const Cubin& cubin() const { return cubin_; }
  // Offsets from where the function starts, of instructions whose innermost frame is at the line.
  std::vector<uint64_t> at_line(const std::string& function, uint32_t line) const {
    const GpuFunctionIndex index = function_named(cubin_, function);
    std::vector<uint64_t> found;
    const GpuFunction& one = cubin_.function(index);
    for (uint32_t offset = one.begin; offset < one.end; offset += kGpuInstructionBytes) {
      const auto frames = cubin_.frames_at({index, offset});
      if (!frames.empty() && frames.back().line == line) found.push_back(offset - one.begin);
    }
    return found;
  }

  // At the first instruction of that line that lies in a loop, as long as there is one: others were moved out of it.
  SamplesOf& line(const std::string& function, uint32_t line, uint32_t reason, uint64_t samples,
                  uint64_t latency = 0) {
    const auto offsets = at_line(function, line);
    EXPECT_FALSE(offsets.empty()) << function << " line " << line;
    if (offsets.empty()) return *this;
    const GpuFunctionIndex index = function_named(cubin_, function);
    const GpuFlow flow(cubin_, index);
    const auto inside = std::find_if(offsets.begin(), offsets.end(), [&](uint64_t offset) {
      return flow.loop_at(static_cast<uint32_t>(offset) + cubin_.function(index).begin) != GpuFlow::kNone;
    });
    return at(symbol_of(function), inside == offsets.end() ? offsets.front() : *inside, reason, samples,
              latency);
  }
  // At each instruction of the function.
  SamplesOf& all_of(const std::string& function, uint32_t reason, uint64_t samples) {
    const GpuFunction& one = cubin_.function(function_named(cubin_, function));
    for (uint32_t offset = one.begin; offset < one.end; offset += kGpuInstructionBytes)
      at(std::string(one.symbol), offset - one.begin, reason, samples);
    return *this;
  }
  SamplesOf& at(const std::string& symbol, uint64_t offset, uint32_t reason, uint64_t samples,
                uint64_t latency = 0, uint32_t module = 0) {
    const auto [found, fresh] =
        functions_.try_emplace(symbol, static_cast<uint32_t>(made_.samples.functions.size()));
    if (fresh) made_.samples.functions.push_back(symbol);
    made_.samples.instructions.push_back({module, found->second, offset, {{reason, samples, latency}}});
    return *this;
  }

  std::string symbol_of(const std::string& function) const {
    return std::string(cubin_.function(function_named(cubin_, function)).symbol);
  }
  ProcessGpuSamples& made() { return made_; }

 private:
  Cubin cubin_;
  ProcessGpuSamples made_;
  std::map<std::string, uint32_t> functions_;
};

}  // namespace diogenes::testing
