#include "views/outline.h"

#include <algorithm>
#include <map>
#include <set>

namespace diogenes {
namespace {

bool more_benefit(const ReportProblem* a, const ReportProblem* b) {
  return a->expected_benefit_s > b->expected_benefit_s;
}

}  // namespace

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
  for (const char* grouping : {"folded-function", "single-point"}) {
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
      if (!whole || finding.problems.size() < 2) continue;
      std::stable_sort(finding.problems.begin(), finding.problems.end(), more_benefit);
      placed.insert(finding.problems.begin(), finding.problems.end());
      result.findings.push_back(std::move(finding));
    }
  }
  for (const ReportProblem& problem : report.problems)
    if (!placed.count(&problem)) result.findings.push_back({nullptr, {&problem}});
  std::stable_sort(result.findings.begin(), result.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.benefit_s() > b.benefit_s(); });
  for (const ReportGroup* group : groups)
    if (group->grouping == "sequence" || group->grouping == "subsequence") result.sequences.push_back(group);
  return result;
}

}  // namespace diogenes
