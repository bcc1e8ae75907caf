#include "views/explorer/lists/problem_tree.h"

#include <algorithm>
#include <map>

namespace diogenes::explorer {
namespace {

Node leaf(const ReportProblem* problem) { return {nullptr, {problem}, {}}; }

std::vector<Node> leaves(const std::vector<const ReportProblem*>& problems) {
  std::vector<Node> nodes;
  nodes.reserve(problems.size());
  for (const ReportProblem* problem : problems) nodes.push_back(leaf(problem));
  return nodes;
}

std::vector<Node> findings(const Report& report) {
  std::vector<Node> nodes;
  for (Finding& finding : outline(report).findings) {
    Node node{finding.group, std::move(finding.problems), {}};
    if (node.problems.size() > 1) node.children = leaves(node.problems);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// Folds, each in the smallest one that has all of its members.
class Folds {
 public:
  explicit Folds(const Report& report) : report_(report), folds_(1) {
    std::map<std::string, uint32_t> numbers;
    for (uint32_t i = 0; i < report.problems.size(); ++i) numbers[report.problems[i].id] = i;
    innermost_.resize(report.problems.size(), 0);
    std::vector<std::pair<const ReportGroup*, std::vector<uint32_t>>> groups;
    for (const ReportGroup& group : report.groups) {
      if (group.grouping != "folded-function") continue;
      std::vector<uint32_t> members;
      for (const std::string& id : group.members)
        if (auto found = numbers.find(id); found != numbers.end()) members.push_back(found->second);
      if (!members.empty()) groups.emplace_back(&group, std::move(members));
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
    for (const auto& [group, members] : groups) add(group, members);
  }

  std::vector<Node> nodes() const {
    std::vector<std::vector<const ReportProblem*>> own(folds_.size());
    for (size_t i = 0; i < innermost_.size(); ++i) own[innermost_[i]].push_back(&report_.problems[i]);
    return node(0, own).children;
  }

 private:
  struct Fold {
    const ReportGroup* group = nullptr;
    std::vector<size_t> inner;
  };

  void add(const ReportGroup* group, const std::vector<uint32_t>& members) {
    const size_t outer = innermost_[members.front()];
    const bool inside = std::all_of(members.begin(), members.end(),
                                    [&](uint32_t member) { return innermost_[member] == outer; });
    if (!inside) return;  // lies across others: its problems would be shown twice
    folds_[outer].inner.push_back(folds_.size());
    for (uint32_t member : members) innermost_[member] = folds_.size();
    folds_.push_back({group, {}});
  }

  Node node(size_t fold, const std::vector<std::vector<const ReportProblem*>>& own) const {
    Node result{folds_[fold].group, own[fold], leaves(own[fold])};
    for (size_t inner : folds_[fold].inner) {
      Node child = node(inner, own);
      result.problems.insert(result.problems.end(), child.problems.begin(), child.problems.end());
      result.children.push_back(std::move(child));
    }
    std::stable_sort(result.problems.begin(), result.problems.end(),
                     [](auto* a, auto* b) { return a->expected_benefit_s > b->expected_benefit_s; });
    // A fold of one problem says no more than the problem.
    if (fold != 0 && result.problems.size() == 1) return leaf(result.problems.front());
    return result;
  }

  const Report& report_;
  std::vector<Fold> folds_;        // the first holds what is in no fold
  std::vector<size_t> innermost_;  // by problem
};

// False: nothing of the kind is in it.
bool keep_kind(Node& node, const std::string& kind) {
  if (node.children.empty()) return node.problems.front()->kind == kind;
  std::erase_if(node.children, [&](Node& child) { return !keep_kind(child, kind); });
  return !node.children.empty();
}

}  // namespace

std::vector<Node> problem_tree(const Report& report, Grouping grouping, const std::string& kind) {
  std::vector<Node> nodes;
  if (grouping == Grouping::findings) {
    nodes = findings(report);
  } else if (grouping == Grouping::functions) {
    nodes = Folds(report).nodes();
  } else {
    for (const ReportProblem& problem : report.problems) nodes.push_back(leaf(&problem));
  }
  if (!kind.empty()) std::erase_if(nodes, [&](Node& node) { return !keep_kind(node, kind); });
  return nodes;
}

void put_in_order(std::vector<Node>& nodes, Order order) {
  std::vector<std::pair<double, size_t>> keys;
  for (size_t i = 0; i < nodes.size(); ++i) keys.emplace_back(amount_of(nodes[i].finding(), order), i);
  std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Node> sorted;
  for (const auto& [key, at] : keys) {
    put_in_order(nodes[at].children, order);
    sorted.push_back(std::move(nodes[at]));
  }
  nodes = std::move(sorted);
}

std::vector<std::string> kinds_of(const Report& report) {
  std::vector<std::string> kinds;
  for (const ReportProblem& problem : report.problems)
    if (std::find(kinds.begin(), kinds.end(), problem.kind) == kinds.end()) kinds.push_back(problem.kind);
  return kinds;
}

}  // namespace diogenes::explorer
