#include "launcher/installed/machine_load.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/units.h"

namespace diogenes::launcher {
namespace {

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

std::optional<ProcessorTime> processor_time(const std::string& stat, const cpu_set_t& allowed,
                                            double ticks_per_second) {
  ProcessorTime result;
  uint64_t busy = 0;
  std::istringstream lines(stat);
  for (std::string line; std::getline(lines, line);) {
    unsigned number = 0;
    unsigned long user = 0, nice = 0, system = 0, interrupts = 0, soft = 0, stolen = 0;
    if (sscanf(line.c_str(), "cpu%u %lu %lu %lu %*u %*u %lu %lu %lu", &number, &user, &nice, &system,
               &interrupts, &soft, &stolen) != 7 ||
        number >= CPU_SETSIZE || !CPU_ISSET(number, &allowed))
      continue;
    ++result.processors;
    busy += user + nice + system + interrupts + soft + stolen;
  }
  if (result.processors == 0 || ticks_per_second <= 0) return std::nullopt;
  result.busy_s = static_cast<double>(busy) / ticks_per_second;
  return result;
}

std::optional<ProcessorTime> processor_time() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return std::nullopt;
  std::ifstream file("/proc/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return processor_time(text, allowed, static_cast<double>(sysconf(_SC_CLK_TCK)));
}

OthersLoad::OthersLoad()
    : begin_(processor_time()), begin_s_(monotonic_now().seconds()), own_s_(own_cpu_seconds()) {}

double OthersLoad::processors_taken(double children_s) const {
  const std::optional<ProcessorTime> end = processor_time();
  const double passed_s = monotonic_now().seconds() - begin_s_;
  if (!begin_ || !end || end->processors != begin_->processors || passed_s <= 0) return 0;
  const double ours = own_cpu_seconds() - own_s_ + children_s;
  return std::clamp((end->busy_s - begin_->busy_s - ours) / passed_s, 0.0, 1.0 * end->processors);
}

}  // namespace diogenes::launcher
