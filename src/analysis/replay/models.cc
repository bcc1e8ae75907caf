#include "analysis/replay/models.h"

#include <algorithm>

#include "analysis/runs/in_background.h"

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
Figure Models::figure(const Parts& parts) const {
  return parts.size() == 1 ? figure(*parts[0]) : figure(merged(parts));
}

std::vector<Figure> Models::figures(const std::vector<Parts>& of) const {
  std::vector<Figure> figures(of.size());
  each_on_two_threads(of.size(), [&](size_t i) { figures[i] = figure(of[i]); });
  return figures;
}

}  // namespace diogenes
