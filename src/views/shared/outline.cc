#include "views/shared/outline.h"

#include <algorithm>
#include <map>
#include <set>

namespace diogenes {
namespace {

bool more_benefit(const ReportProblem* a, const ReportProblem* b) {
  return a->expected_benefit_s > b->expected_benefit_s;
}

// The wait that one place loses, another takes over: only the fix of all of them gains.
bool gains_together(const Finding& finding) {
  double alone = 0;
  for (const ReportProblem* problem : finding.problems) alone += problem->expected_benefit_s;
  return finding.benefit_s() > 1.1 * alone;
}

}  // namespace

uint64_t calls_of(const Finding& finding) {
  uint64_t calls = 0;
  for (const ReportProblem* problem : finding.problems) calls += problem->count;
  return calls;
}

double waited_of(const Finding& finding) {
  double waited = 0;
  for (const ReportProblem* problem : finding.problems) waited += problem->waited_s;
  return waited;
}

uint64_t bytes_of(const Finding& finding) {
  uint64_t bytes = 0;
  for (const ReportProblem* problem : finding.problems) bytes += problem->bytes;
  return bytes;
}

double amount_of(const Finding& finding, Order order) {
  switch (order) {
    case Order::benefit:
      return finding.benefit_s();
    case Order::calls:
      return static_cast<double>(calls_of(finding));
    case Order::waited:
      return waited_of(finding);
    case Order::bytes:
      return static_cast<double>(bytes_of(finding));
  }
  return 0;
}

Outline outline(const Report& report) {
  std::map<std::string, const ReportProblem*> by_id;
  for (const ReportProblem& problem : report.problems) by_id[problem.id] = &problem;

  std::vector<const ReportGroup*> groups;
  for (const ReportGroup& group : report.groups) groups.push_back(&group);
  std::stable_sort(groups.begin(), groups.end(), [](const ReportGroup* a, const ReportGroup* b) {
    return a->expected_benefit_s > b->expected_benefit_s;
  });

  Outline result;
  std::set<const ReportProblem*> placed;
  // `fits` says which groups of a grouping are findings.
  auto place = [&](const char* grouping, auto fits) {
    for (const ReportGroup* group : groups) {
      if (group->grouping != grouping) continue;
      Finding finding{group, {}};
      bool whole = true;
      for (const std::string& member : group->members) {
        auto found = by_id.find(member);
        if (found == by_id.end()) continue;
        // The group's figure is that of all its members: one that lost some to another group is not shown.
        if (placed.count(found->second)) whole = false;
        finding.problems.push_back(found->second);
      }
      if (!whole || finding.problems.size() < 2 || !fits(finding)) continue;
      std::stable_sort(finding.problems.begin(), finding.problems.end(), more_benefit);
      placed.insert(finding.problems.begin(), finding.problems.end());
      result.findings.push_back(std::move(finding));
    }
  };
  place("folded-function", gains_together);
  place("caller", [](const Finding&) { return true; });
  place("single-point", [](const Finding&) { return true; });
  for (const ReportProblem& problem : report.problems)
    if (!placed.count(&problem)) result.findings.push_back({nullptr, {&problem}});
  std::stable_sort(result.findings.begin(), result.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.benefit_s() > b.benefit_s(); });
  for (const ReportGroup* group : groups)
    if (group->grouping == "sequence" || group->grouping == "subsequence") result.sequences.push_back(group);
  return result;
}

}  // namespace diogenes
