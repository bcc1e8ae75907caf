// The machine in one line for people: processor, cores, kernel. No names of hosts.
#pragma once
#include <string>

namespace diogenes::launcher {

std::string describe_machine();  // "Intel(R) Xeon(R) ..., 16 cores, Linux 6.8.0"

// "2026-05-01T12:00:00Z"
std::string iso_time(int64_t realtime_ns);

}  // namespace diogenes::launcher
