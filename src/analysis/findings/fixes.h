// What to change, and what a finding rests on: one line each for every kind of problem and driver function.
// The figure of a problem assumes exactly the fix that is printed with it (fix_removes_call(), problem_kinds.h).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings/asked_lines.h"
#include "analysis/findings/problems.h"
#include "analysis/findings/python_advice.h"
#include "analysis/report/report.h"
#include "analysis/symbols/frame_owner.h"

namespace diogenes {

struct Advice {
  std::string why, fix;  // one sentence each: what was seen, what to change
  std::vector<ReportCondition>
      conditions;  // what the verdict rests on, and what to check before changing the code
};
// The code of conditions that hold for every finding of their kind.
inline constexpr const char* kUsualCheck = "usual";

// `use_at`: FILE:LINE of the most frequent first use, or "". `allocation_at`: the same of the calls that the
// fix takes along (Problem::allocation_places). `library`: that makes the wait (frame_owner.h). `instead`: what to write in place
// of a library's call (python_advice.h), or "".
Advice advice_for(const Problem& problem, const DriverFunction& function, const std::string& use_at,
                  const std::string& allocation_at = "", const std::optional<LibraryWait>& library = {},
                  const std::string& instead = "");

// Of a needed wait, or of data that the CPU makes.
std::string required_fix(const Required& required, const PythonAdvice& instead);

}  // namespace diogenes
