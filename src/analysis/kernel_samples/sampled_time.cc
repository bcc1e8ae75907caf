#include "analysis/kernel_samples/sampled_time.h"

#include <cstdint>

namespace diogenes {
namespace {

// Of the mean GPU that a process uses: which of them a kernel ran on is not known.
struct Clock {
  const GpuClocks& clocks;
  const std::vector<GpuSamples::Device>& devices;

  // Cycles a nanosecond, of all multiprocessors together; 0: not known.
  double at(int64_t at_ns) const {
    double sum = 0;
    for (const GpuSamples::Device& device : devices) {
      const double one = clocks.at(device.place, at_ns) * device.multiprocessors;
      if (one <= 0) return 0;
      sum += one;
    }
    return devices.empty() ? 0 : sum / static_cast<double>(devices.size());
  }
};

// Some samples are missing, and nobody knows of which kernels, so that the others do not tell how many cycles these took.
bool lost_some(const GpuSamples& samples) {
  constexpr uint64_t kPart = 100;
  return samples.full_buffers > 0 ||
         samples.dropped + samples.left_out + samples.foreign > samples.total / kPart;
}

void add(const Process& process, const GpuSamples& samples, const GpuClocks& clocks,
         std::map<std::string, SampledTime>& times) {
  const Clock clock{clocks, samples.devices};
  const int64_t until = samples.ended_ns > 0 ? samples.ended_ns : INT64_MAX;
  for (const Thread& thread : process.threads)
    for (const GpuPiece& piece : thread.gpu_pieces) {
      if (piece.work != GpuWork::kernel || piece.end.count > until) continue;
      const std::string_view name = process.trace->kernels[piece.launch].name;
      SampledTime& time = times[std::string(name)];
      ++time.launches;
      time.cycles += static_cast<double>((piece.end - piece.begin).count) *
                     clock.at(piece.begin.count + (piece.end - piece.begin).count / 2);
    }
}

}  // namespace

std::map<std::string, SampledTime> find_sampled_time(const Run& run,
                                                     std::span<const ProcessGpuSamples> samples,
                                                     const GpuClocks& clocks) {
  std::map<std::string, SampledTime> times;
  uint64_t period = 0;
  bool lost = false, differ = false;
  for (const ProcessGpuSamples& one : samples) {
    lost |= lost_some(one.samples);
    differ |= period != 0 && period != one.samples.period_cycles;
    period = one.samples.period_cycles;
    if (one.process < run.processes.size()) add(run.processes[one.process], one.samples, clocks, times);
  }
  for (auto& [name, time] : times) time.cycles_a_sample = lost || differ ? 0 : static_cast<double>(period);
  return times;
}

}  // namespace diogenes
