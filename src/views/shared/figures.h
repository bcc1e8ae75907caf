// Figures as people read them: three digits, a unit that fits, thousands apart. For every view but JSON.
#pragma once
#include <cstdint>
#include <string>

namespace diogenes {

std::string seconds_text(double seconds);               // "1.23 s", "45.6 ms", "12.0 us", "310 ns", "0 s"
std::string percent_text(double percent);               // "12.3%", "0.2%", "<0.1%", "0%"
std::string bytes_text(uint64_t bytes);                 // "512 bytes", "4.00 KiB", "1.25 GiB"
std::string count_text(uint64_t count);                 // "5,000"
std::string overhead_text(double factor);               // "1.05x"
std::string counted(uint64_t count, const char* noun);  // "1 problem", "2,000 problems"
// What calls cost: "480 of 500 calls: 96.0 ms in all, 91.0 ms of it waiting; 1.83 GiB". 0 bytes are not said.
std::string cost_text(uint64_t count, uint64_t instances, double waited_s, double call_s, uint64_t bytes = 0);

}  // namespace diogenes
