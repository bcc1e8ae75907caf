// Who tells when work ran on the GPU: a table of functions. The simulated driver has one behind its private
// table; src/gpu_times/ makes one of CUPTI's records. The agent calls them around and between the program's
// calls, on the program's threads, so none of them waits for the GPU or for another thread.
#pragma once
#include <cstddef>
#include <cstdint>

namespace diogenes {

enum class GpuWork : uint8_t { other, kernel, to_device, to_host, on_device, fill };

// One piece of GPU work that has ended. A call that starts several (a graph) has several.
struct GpuTime {
  uint64_t operation;        // as begin() was told
  int64_t begin_ns, end_ns;  // CLOCK_MONOTONIC
  uint32_t stream;           // as the source numbers them
  uint32_t launch;           // a kernel's, in the file of kernel_launches.h; 0: not known
  GpuWork work;
  uint8_t reserved[7];
};

struct GpuTimesSource {
  size_t bytes;  // of this structure
  // Null: it runs, and writes what kernels are called into `folder` (kernel_launches.h). Else why not, in words; nothing
  // else is called then.
  const char* (*start)(const char* folder);
  // What the calling thread gives the GPU from here on belongs to `operation` (not 0, below 2^52), until
  // end().
  void (*begin)(uint64_t operation);
  void (*end)();
  // Work that has ended since, at most so much; returns how much. Never waits: 0 may mean 'later'.
  size_t (*take)(GpuTime* times, size_t most);
  // At the program's orderly end: what has ended by now can be taken.
  void (*finish)();
  // Work that is given from here on is recorded, or is not. Returns whether it is: beginning again may fail. One thread at a
  // time calls it.
  bool (*record)(bool on);
  // What has ended by now can be taken. May take some milliseconds; waits for no work.
  void (*deliver)();
};

inline constexpr const char* kGpuTimesSourceSymbol =
    "diogenes_gpu_times_source";  // a GpuTimesSource, in a plug-in

}  // namespace diogenes
