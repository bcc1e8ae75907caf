#include "gpu_samples.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "driver/gpu_samples_file.h"
#include "driver/gpu_samples_plug_in.h"
#include "driver/kept_code.h"

namespace diogenes::sim {
namespace {

constexpr uint64_t kPeriodCycles = 2048;
constexpr const char* kFront = "smsp__pcsamp_warps_issue_stalled_";

struct SampledKernel {
  std::string symbol;
  std::vector<SampledSum> of_a_launch;
};

// Kept until the process ends, also while its last destructors run.
struct State {
  std::string folder;
  SamplesFile file;
  KeptCode code;
  std::map<std::string, SampledKernel> kernels;
};
State& state() {
  static auto* all = new State;
  return *all;
}

[[noreturn]] void wrong(const char* file, const std::string& line) {
  fprintf(stderr, "simulated driver: DIOGENES_SIMULATED_SAMPLES=%s: cannot be read at '%s'\n", file,
          line.c_str());
  abort();
}

uint32_t load_code(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const KeptCode::Kept kept =
      state().code.keep({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  return state().file.module(kept.why_none, kept.code);
}

void read_list(const char* path) {
  std::ifstream file(path);
  if (!file) wrong(path, "the file itself");
  uint32_t module = 0, function = 0;
  SampledKernel* kernel = nullptr;
  std::string word, name, reason;
  while (file >> word) {
    uint64_t offset = 0, all = 0, late = 0;
    if (word == "code" && file >> name) {
      module = load_code(name);
    } else if (word == "kernel" && file >> name && module != 0) {
      kernel = &state().kernels[name];
      if (!(file >> kernel->symbol)) wrong(path, word);
      function = state().file.function(kernel->symbol.c_str());
    } else if (word == "sample" && kernel &&
               file >> std::hex >> offset >> reason >> std::dec >> all >> late) {
      for (const auto& [of, samples] :
           {std::pair{kFront + reason, all}, std::pair{kFront + reason + "_not_issued", late}})
        kernel->of_a_launch.push_back(
            {SampledType::sum, module, function, state().file.reason(of.c_str()), offset, samples});
    } else {
      wrong(path, word);
    }
  }
}

}  // namespace

void start_gpu_samples(const char* folder) {
  const char* list = getenv("DIOGENES_SIMULATED_SAMPLES");
  if (!list || !getenv(kGpuSamplesVariable) || !state().folder.empty()) return;
  state().folder = folder;
  if (!state().file.open(folder)) return;
  state().code.open(state().folder.c_str());
  state().file.header().period_cycles = kPeriodCycles;
  read_list(list);
}

const char* told_name(const char* kernel) {
  const auto known = state().kernels.find(kernel);
  return known == state().kernels.end() ? kernel : known->second.symbol.c_str();
}

void sample_launch(const char* kernel) {
  const auto known = state().kernels.find(kernel);
  if (known == state().kernels.end()) return;
  for (const SampledSum& sum : known->second.of_a_launch) {
    if (sum.samples > 0) state().file.count(sum);
  }
}

}  // namespace diogenes::sim
