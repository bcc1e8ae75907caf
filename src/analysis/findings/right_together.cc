#include "analysis/findings/right_together.h"

#include <algorithm>

namespace diogenes {
namespace {

bool keeps_in_any_order(const Problem& problem) {
  return keeps_memory(problem) && problem.needs_new_memory() == 0;
}
bool needs_it_new(const Problem& problem) { return !keeps_memory(problem) && problem.needs_new_memory() > 0; }

Models::Parts changes_without(const std::vector<Problem>& problems, bool (*left_out)(const Problem&)) {
  Models::Parts parts;
  for (const Problem& problem : problems)
    if (!left_out(problem)) parts.push_back(&problem.changes);
  return parts;
}

}  // namespace

bool keeps_memory(const Problem& problem) {
  return problem.kind == ProblemKind::repeated_allocation ||
         (problem.kind == ProblemKind::unnecessary_synchronization && problem.releases &&
          problem.call_removed);
}

void set_apart(std::vector<Problem>& problems, const EventGraph& graph, const Models* models) {
  if (std::none_of(problems.begin(), problems.end(), keeps_in_any_order) ||
      std::none_of(problems.begin(), problems.end(), needs_it_new))
    return;
  const Models paper(graph, nullptr, Model::paper);
  const std::vector<Figure> without =
      (models ? *models : paper)
          .figures({changes_without(problems, keeps_in_any_order), changes_without(problems, needs_it_new)});
  const auto apart = without[0].benefit > without[1].benefit ? keeps_in_any_order : needs_it_new;
  for (Problem& problem : problems) problem.apart = apart(problem);
}

}  // namespace diogenes
