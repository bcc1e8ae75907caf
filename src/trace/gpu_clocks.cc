#include "trace/gpu_clocks.h"

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>

namespace diogenes {

std::string line_of(const GpuClockReading& reading) {
  char line[96];
  snprintf(line, sizeof line, "%" PRId64 " %08" PRIx32 ":%02" PRIx32 ":%02" PRIx32 " %" PRIu32 "\n",
           reading.at_ns, reading.gpu.domain, reading.gpu.bus, reading.gpu.device, reading.mhz);
  return line;
}

GpuClocks GpuClocks::read(const std::filesystem::path& run_folder) {
  GpuClocks clocks;
  std::ifstream file(run_folder / kGpuClocksFile);
  for (std::string line; std::getline(file, line);) {
    GpuClockReading reading;
    if (sscanf(line.c_str(), "%18" SCNd64 " %8" SCNx32 ":%8" SCNx32 ":%8" SCNx32 " %6" SCNu32, &reading.at_ns,
               &reading.gpu.domain, &reading.gpu.bus, &reading.gpu.device, &reading.mhz) == 5)
      clocks.add(reading);
  }
  return clocks;
}

void GpuClocks::add(const GpuClockReading& reading) {
  if (reading.mhz > 0) readings_[reading.gpu][reading.at_ns] = reading.mhz;
}

double GpuClocks::at(const PciPlace& gpu, int64_t at_ns) const {
  const auto of_gpu = readings_.find(gpu);
  if (of_gpu == readings_.end()) return 0;
  const auto& readings = of_gpu->second;
  auto next = readings.lower_bound(at_ns);
  if (next == readings.end() ||
      (next != readings.begin() && at_ns - std::prev(next)->first < next->first - at_ns))
    --next;
  return next->second / 1e3;
}

}  // namespace diogenes
