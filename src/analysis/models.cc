#include "analysis/models.h"

#include <algorithm>

namespace diogenes {

const char* model_name(Model model) { return model == Model::paper ? "paper" : "replay"; }
Model model_of(std::string_view name) { return name == "replay" ? Model::replay : Model::paper; }

Figure Models::figure(const std::vector<Change>& changes) const {
  Figure figure;
  figure.paper = figure.benefit = figure.low = figure.high = expected_benefit(graph_, changes);
  if (!replay_) return figure;
  Estimate estimate = replay_->estimate(changes);
  figure.replay = estimate.benefit;
  if (model_ == Model::replay) figure.benefit = estimate.benefit;
  figure.low = std::min(estimate.low, figure.benefit);
  figure.high = std::max(estimate.high, figure.benefit);
  figure.reason = std::move(estimate.reason);
  return figure;
}

// One alone is not copied: a program of a million waits may have one problem.
Figure Models::figure(const std::vector<const std::vector<Change>*>& parts) const {
  return parts.size() == 1 ? figure(*parts[0]) : figure(merged(parts));
}

}  // namespace diogenes
