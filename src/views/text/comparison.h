// Two sessions of one program beside each other: what is new, gone, better, worse; and the estimate of what is gone
// beside what the run time says. In: two reports. Out: rows, and their text. Findings are matched by `source_key`.
#pragma once
#include <string>
#include <vector>

#include "analysis/report/report.h"
#include "views/text/text.h"

namespace diogenes {

struct ComparedProblem {
  enum class State : uint8_t {
    gone,
    fresh,
    worse,
    better,
    same
  } state{};                                              // in the order in which they are shown
  const ReportProblem *before = nullptr, *now = nullptr;  // one is null where it is gone or new
  double gain_s() const { return (before ? before : now)->expected_benefit_s; }
};

struct Comparison {
  std::vector<ComparedProblem> problems;  // by state, each by gain
  double faster_s = 0;                    // run time before - run time now
  double gone_s = 0;                      // expected benefit of what is gone
  bool gone_together = false;  // all of the old problems are gone: gone_s is the estimate of them together
  // What was proved of just what is gone; null: nothing.
  const ReportProved* gone_proved = nullptr;
};

// A gain that differs by less than a tenth, or by less than 0.1% of the run time, is the same. Points into both.
Comparison compare(const Report& before, const Report& now);

std::string comparison_text(const Report& before, const Report& now, const TextOptions& options);

}  // namespace diogenes
