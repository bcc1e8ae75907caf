// `diogenes doctor`: can this machine, driver and program be measured? One line a check, and for each problem
// what to do.
#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "launcher/command_line/messages.h"
#include "launcher/doctor/checks.h"
#include "launcher/options.h"

namespace diogenes::launcher {

Checks::Checks() : color_(colors_wanted(STDOUT_FILENO)) {}

void Checks::line(Verdict verdict, std::string_view what, std::string_view found) const {
  constexpr std::array<const char*, 3> kWords = {"ok", "note", "PROBLEM"};
  constexpr std::array<const char*, 3> kColors = {"\033[32m", "\033[33m", "\033[31m"};
  auto index = static_cast<size_t>(verdict);
  fmt::print("{}{:<8}{}{:<22}{}\n", color_ ? kColors[index] : "", kWords[index], color_ ? "\033[0m" : "",
             what, found);
  fflush(stdout);
}

int doctor(const DoctorOptions& options) {
  Checks checks;
  const Installation installation = find_installation();
  const std::optional<ComputeCapability> gpu = check_driver(checks, options.driver, installation);
  check_machine(checks, installation);
  check_program(checks, options.command, options.driver, gpu);
  const char* driver = options.driver == DriverKind::simulated ? " --driver simulated" : "";
  if (checks.problems() == 0)
    fmt::print("\nReady: diogenes run{} -- ./app\n", driver);
  else
    fmt::print("\n{} problem{} in the way of `diogenes run{}`.\n", checks.problems(),
               checks.problems() == 1 ? "" : "s", driver);
  return checks.problems() == 0 ? kSuccess : kProblems;
}

}  // namespace diogenes::launcher
