// The problems of a report as a tree: groups with what is in them, or all in one list; of one kind or of all; in an
// order. Figure 7 of the paper: first the API, then the function that calls it, then the places.
#pragma once
#include <string>
#include <vector>

#include "analysis/report/report.h"
#include "views/shared/outline.h"

namespace diogenes::explorer {

enum class Grouping : uint8_t { findings, functions, problems };

struct Node {
  const ReportGroup* group = nullptr;          // null: one problem alone
  std::vector<const ReportProblem*> problems;  // all that are below; by expected benefit
  std::vector<Node> children;                  // empty: one problem alone
  const std::string& id() const { return group ? group->id : problems.front()->id; }
  Finding finding() const { return {group, problems}; }
};

// `kind`: groups with a problem of this kind, and in them only these; "": any. Points into the report.
std::vector<Node> problem_tree(const Report& report, Grouping grouping, const std::string& kind);

// The largest first, on each level.
void put_in_order(std::vector<Node>& nodes, Order order);

// The kinds of problems that the report has, each once, in the order of the report.
std::vector<std::string> kinds_of(const Report& report);

}  // namespace diogenes::explorer
