// What a reader sees first: the report's groups and problems as one ranked list of findings. Each problem is
// in exactly one finding: in its folded function if that holds two problems or more, else in its single
// point, else alone. Sequences run across these and are kept apart.
#pragma once
#include <vector>

#include "analysis/report.h"

namespace diogenes {

struct Finding {
  const ReportGroup* group = nullptr;          // null: one problem alone
  std::vector<const ReportProblem*> problems;  // by expected benefit
  double benefit_s() const {
    return group ? group->expected_benefit_s : problems.front()->expected_benefit_s;
  }
};

struct Outline {
  std::vector<Finding> findings;              // by expected benefit
  std::vector<const ReportGroup*> sequences;  // by expected benefit
};

// Points into `report`, which must outlive it. Members that no problem has as id are left out.
Outline outline(const Report& report);

}  // namespace diogenes
