// What to change, and what a finding rests on: one line each for every kind of problem and driver function.
// The figure of a problem assumes exactly the fix that is printed with it (fix_removes_call(), problem_kinds.h).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings/problems.h"
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
// fix takes along (Problem::allocation_places). `library`: that makes the wait (frame_owner.h).
Advice advice_for(const Problem& problem, const DriverFunction& function, const std::string& use_at,
                  const std::string& allocation_at = "", const std::optional<LibraryWait>& library = {});

}  // namespace diogenes
