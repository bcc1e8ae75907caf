// Reads ten times a second how fast the GPUs' clocks are, from outside of the program, by NVIDIA's management library (NVML),
// and writes it to a file as it comes (trace/gpu_clocks.h). Without that library, or if it refuses, there are no readings: then
// nothing is said of what needs them. Source: nvml.h of CUDA 13.0.
#pragma once
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

namespace diogenes::launcher {

class GpuClockReader {
 public:
  // `library_folder`: where the driver's libraries lie; the library is looked for there, then by its name.
  GpuClockReader(std::filesystem::path file, std::filesystem::path library_folder)
      : file_(std::move(file)), library_folder_(std::move(library_folder)) {}
  ~GpuClockReader() { stop(); }
  GpuClockReader(const GpuClockReader&) = delete;
  GpuClockReader& operator=(const GpuClockReader&) = delete;

  // Once, when the program runs: what the library opens is not inherited by it then.
  void start();
  void stop();

 private:
  void read();

  std::filesystem::path file_, library_folder_;
  std::thread reader_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool over_ = false;  // under the mutex
};

}  // namespace diogenes::launcher
