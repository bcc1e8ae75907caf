// Samples of the GPU's instruction pointers in one process: where its kernels were, and why they did not go on. In: what the plug-in
// of GPU times left in the process's folder. Out: counts by instruction and reason, and the code that they lie in. Samples weigh
// instructions of one kernel against each other; they do not tell time, which comes from GPU times.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trace/gpu_clocks.h"

namespace diogenes {

struct GpuSamples {
  // A module: GPU code that a context loaded. Two contexts or GPUs that load the same code have two.
  struct Module {
    std::string code;      // path of the kept part of the cubin (driver/cubin_file.h); "": none
    std::string why_none;  // then: a sentence
  };
  // Issued and latency samples are counted apart: a sample is a latency sample if no warp of its scheduler issued in that cycle.
  struct Reason {
    uint32_t reason = 0;                        // position in `reasons`
    uint64_t samples = 0, latency_samples = 0;  // all; of these, latency samples
  };
  struct Instruction {
    uint32_t module = 0;          // position in `modules`
    uint32_t function = 0;        // position in `functions`
    uint64_t offset = 0;          // bytes from where the function's code starts
    std::vector<Reason> reasons;  // sorted by reason, each once
  };

  // A GPU that was sampled.
  struct Device {
    PciPlace place;
    uint32_t multiprocessors = 0;
  };

  std::vector<std::string>
      reasons;  // as CUPTI names them, without what all have in front: "long_scoreboard", "selected"
  std::vector<std::string> functions;  // symbols, as in the cubin
  std::vector<Module> modules;
  std::vector<Instruction> instructions;  // sorted by module, function, offset; each once
  std::vector<Device> devices;
  uint64_t period_cycles = 0;  // of the GPU's clock, between two samples of a multiprocessor; 0: not known
  uint64_t dropped = 0;        // by hardware or driver
  uint64_t foreign = 0;        // of modules that are not known
  uint64_t full_buffers = 0;   // how often samples were lost since the hardware's buffer was full
  uint64_t left_out = 0;       // for which there was no room in the file
  uint64_t total = 0;          // as the driver counts them, with those above
  int64_t ended_ns =
      0;  // CLOCK_MONOTONIC: from then on the program made too many calls; 0: all of it was sampled
  // Samples were not taken, or not of all contexts: a sentence that says why, and what to do. "": they were, or nobody asked.
  std::string why_none;
};

// Source: the file `gpu-samples` (driver/gpu_samples_file.h) of that folder; nothing where there is none. A file that was cut or
// damaged is taken as far as it goes, and `missing` gets a line.
GpuSamples read_gpu_samples(const std::filesystem::path& process_folder, std::vector<std::string>& missing);

}  // namespace diogenes
