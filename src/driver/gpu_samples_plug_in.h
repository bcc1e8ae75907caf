// A second plug-in beside that of GPU times, in a library of its own: it samples the GPU's instruction pointers by CUPTI, which
// has one subscriber in a process, that of GPU times.
#pragma once
#include <cstdint>

namespace diogenes {

// In the environment: the library's path. Not set: nobody asked for samples. The simulated driver makes its own.
inline constexpr const char* kGpuSamplesVariable = "DIOGENES_GPU_SAMPLES";
inline constexpr const char* kGpuSamplesSymbol = "diogenes_gpu_samples";  // a GpuSamplesPlugIn

struct GpuSamplesPlugIn {
  // Once there is a subscriber, before there are contexts. Contexts that are made from here on are sampled, and what could not be
  // done is written into `folder` (gpu_samples_file.h).
  void (*start)(void* cupti, void* subscriber, const char* folder);
  // CUPTI's callbacks on resources.
  void (*resource)(unsigned event, const void* data);
  // A thread enters a call of the driver, or leaves it. While sampling ends on another one it waits.
  void (*call)(bool enters);
  // GPU times are not wanted of each call. `calls`: those that gave the GPU work so far. True: nothing is sampled any more. Of
  // more than some 10,000 calls a second sampling ends here, unless another thread is in a call. Not from inside of a call.
  bool (*over)(uint64_t calls);
  // At the program's orderly end: what was sampled is in the file. Nothing is sampled afterwards.
  void (*finish)();
};

}  // namespace diogenes
