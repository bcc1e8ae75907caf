// How fast the clocks of the GPUs' multiprocessors were while a program ran: the file `gpu-clocks` in a run's folder, a line for
// each reading. Written by the launcher, beside the program (launcher/sampling/gpu_clock_reader.h); a line that cannot be read
// is left out.
#pragma once
#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace diogenes {

inline constexpr const char* kGpuClocksFile = "gpu-clocks";

// A GPU, by its place on the bus.
struct PciPlace {
  uint32_t domain = 0, bus = 0, device = 0;
  auto operator<=>(const PciPlace&) const = default;
};

struct GpuClockReading {
  int64_t at_ns = 0;  // CLOCK_MONOTONIC
  PciPlace gpu;
  uint32_t mhz = 0;
};
std::string line_of(const GpuClockReading& reading);  // with its end

class GpuClocks {
 public:
  // Nothing where there is no such file.
  static GpuClocks read(const std::filesystem::path& run_folder);

  void add(const GpuClockReading& reading);
  // Cycles a nanosecond, by the reading next to that time; 0: there is none of that GPU.
  double at(const PciPlace& gpu, int64_t at_ns) const;

 private:
  std::map<PciPlace, std::map<int64_t, uint32_t>> readings_;  // MHz by time
};

}  // namespace diogenes
