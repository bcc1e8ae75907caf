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
  uint64_t samples = 0;
  std::vector<SampledSum> of_a_launch;
};

// Kept until the process ends, also while its last destructors run.
struct Samples {
  std::string folder;
  SamplesFile file;
  KeptCode code;
  std::map<std::string, SampledKernel> kernels;
};
Samples& samples() {
  static auto* all = new Samples;
  return *all;
}

[[noreturn]] void unreadable(const char* file, const std::string& line) {
  fprintf(stderr, "simulated driver: DIOGENES_SIMULATED_SAMPLES=%s: cannot be read at '%s'\n", file,
          line.c_str());
  abort();
}

uint32_t load_code(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const KeptCode::Kept kept =
      samples().code.keep({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  return samples().file.module(kept.why_none, kept.code);
}

void read_samples(const char* path) {
  std::ifstream file(path);
  if (!file) unreadable(path, "the file itself");
  uint32_t module = 0, function = 0;
  SampledKernel* kernel = nullptr;
  std::string word, name, reason;
  while (file >> word) {
    uint64_t offset = 0, all = 0, latency = 0;
    if (word == "code" && file >> name) {
      module = load_code(name);
    } else if (word == "kernel" && file >> name && module != 0) {
      kernel = &samples().kernels[name];
      if (!(file >> kernel->symbol)) unreadable(path, word);
      function = samples().file.function(kernel->symbol.c_str());
    } else if (word == "sample" && kernel &&
               file >> std::hex >> offset >> reason >> std::dec >> all >> latency) {
      kernel->samples += all;
      for (const auto& [of, count] :
           {std::pair{kFront + reason, all}, std::pair{kFront + reason + "_not_issued", latency}})
        kernel->of_a_launch.push_back(
            {SampledType::sum, module, function, samples().file.reason(of.c_str()), offset, count});
    } else {
      unreadable(path, word);
    }
  }
}

}  // namespace

void start_gpu_samples(const char* folder) {
  const char* list = getenv("DIOGENES_SIMULATED_SAMPLES");
  if (!list || !getenv(kGpuSamplesVariable) || !samples().folder.empty()) return;
  samples().folder = folder;
  if (!samples().file.open(folder)) return;
  samples().code.open(samples().folder.c_str());
  samples().file.header().period_cycles = kPeriodCycles;
  samples().file.device({SampledType::device, 132, 0, 1, 0, {}});  // as its attributes say
  read_samples(list);
}

const char* told_name(const char* kernel) {
  const auto known = samples().kernels.find(kernel);
  return known == samples().kernels.end() ? kernel : known->second.symbol.c_str();
}

void sample_launch(const char* kernel) {
  const auto known = samples().kernels.find(kernel);
  if (known == samples().kernels.end()) return;
  samples().file.header().total += known->second.samples;
  for (const SampledSum& sum : known->second.of_a_launch) {
    if (sum.samples > 0) samples().file.count(sum);
  }
}

}  // namespace diogenes::sim
