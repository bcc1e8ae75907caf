// What a reader sees first: the report's groups and problems as one ranked list of findings. A finding is a place in
// the application with all that is wrong there. Each problem is in exactly one: in the fold of its API, if its places
// gain together what they do not gain alone; else with the other problems of its line; else alone. Sequences run across
// these and are kept apart.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

struct Finding {
  const ReportGroup* group = nullptr;          // null: one problem alone
  std::vector<const ReportProblem*> problems;  // by expected benefit
  double benefit_s() const {
    return group ? group->expected_benefit_s : problems.front()->expected_benefit_s;
  }
  double benefit_percent() const {
    return group ? group->expected_benefit_percent : problems.front()->expected_benefit_percent;
  }
  const std::optional<ReportRange>& range() const { return group ? group->range : problems.front()->range; }
  const std::string& id() const { return group ? group->id : problems.front()->id; }
};

enum class Order : uint8_t { benefit, calls, waited, bytes };

// Sums over all that is in it.
uint64_t calls_of(const Finding& finding);
double waited_of(const Finding& finding);
uint64_t bytes_of(const Finding& finding);

// By what findings are put in order.
double amount_of(const Finding& finding, Order order);

struct Outline {
  std::vector<Finding> findings;              // by expected benefit
  std::vector<const ReportGroup*> sequences;  // by expected benefit
};

// Points into `report`, which must outlive it. Members that no problem has as id are left out.
Outline outline(const Report& report);

}  // namespace diogenes
