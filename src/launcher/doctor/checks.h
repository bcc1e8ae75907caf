// What the doctor finds: one line a check, printed as it goes, because some checks take seconds.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/program/gpu_code.h"
#include "launcher/installed/driver_choice.h"
#include "launcher/installed/installation.h"

namespace diogenes::launcher {

class Checks {
 public:
  Checks();

  void ok(std::string_view what, std::string_view found) { line(Verdict::ok, what, found); }
  void note(std::string_view what, std::string_view found) { line(Verdict::note, what, found); }
  void problem(std::string_view what, std::string_view found) {
    line(Verdict::problem, what, found);
    ++problems_;
  }
  int problems() const { return problems_; }

 private:
  enum class Verdict : uint8_t { ok, note, problem };
  void line(Verdict verdict, std::string_view what, std::string_view found) const;
  bool color_;
  int problems_ = 0;
};

// The agent, the machine, its kernel and limits, and what else runs in it.
void check_machine(Checks& checks, const Installation& installation);

// GPU, driver and hooks. The GPU's compute capability, where it can be asked for.
std::optional<ComputeCapability> check_driver(Checks& checks, DriverKind kind,
                                              const Installation& installation);

// The program that a command runs: can the agent get in, are there names and lines, has it code for this GPU.
// `gpu`: none where it is not known.
void check_program(Checks& checks, const std::vector<std::string>& command, DriverKind kind,
                   std::optional<ComputeCapability> gpu);

}  // namespace diogenes::launcher
