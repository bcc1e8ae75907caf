#include "views/shared/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace diogenes {
namespace {

// Three digits: 1.23, 12.3, 123; whole numbers beyond.
std::string three_digits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return count_text(static_cast<uint64_t>(std::llround(value)));
}

}  // namespace

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds) || std::fabs(seconds) < 0.5e-9) return "0 s";
  if (seconds < 0) return "-" + seconds_text(-seconds);
  if (seconds < 999.5e-9) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 999.5e-6) return three_digits(seconds * 1e6) + " us";
  if (seconds < 999.5e-3) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds) + " s";
}

std::string percent_text(double percent) {
  if (!std::isfinite(percent) || percent == 0) return "0%";
  if (percent < 0) return "-" + percent_text(-percent);
  if (percent < 0.05) return "<0.1%";
  return fmt::format("{:.1f}%", percent);
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return counted(bytes, "byte");
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1023.5 && unit < 5; ++unit) value /= 1024;
  return three_digits(value) + " " + kUnits[unit];
}

std::string count_text(uint64_t count) {
  std::string digits = std::to_string(count);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, 1, ',');
  return digits;
}

std::string overhead_text(double factor) { return fmt::format("{:.2f}x", factor); }

std::string counted(uint64_t count, const char* noun) {
  return count_text(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string cost_text(uint64_t count, uint64_t instances, double waited_s, double call_s, uint64_t bytes) {
  const std::string some = instances > count ? count_text(count) + " of " : "";
  return fmt::format("{}{}: {} in all, {} of it waiting{}", some, counted(std::max(count, instances), "call"),
                     seconds_text(call_s), seconds_text(waited_s), bytes > 0 ? "; " + bytes_text(bytes) : "");
}

}  // namespace diogenes
