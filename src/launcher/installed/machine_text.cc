#include "launcher/installed/machine_text.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <time.h>

#include <array>
#include <fstream>

namespace diogenes::launcher {

std::string describe_machine() {
  std::string model = "unknown processor", line;
  std::ifstream file("/proc/cpuinfo");
  while (std::getline(file, line))
    if (line.starts_with("model name")) {
      size_t colon = line.find(": ");
      if (colon != std::string::npos) model = line.substr(colon + 2);
      break;
    }
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  int cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
  utsname kernel{};
  uname(&kernel);
  return fmt::format("{}, {} core{}, {} {}", model, cores, cores == 1 ? "" : "s", kernel.sysname,
                     kernel.release);
}

std::string iso_time(int64_t realtime_ns) {
  time_t seconds = realtime_ns / 1'000'000'000;
  tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

}  // namespace diogenes::launcher
