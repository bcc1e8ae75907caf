#include "analysis/replay/models.h"

#include <algorithm>

#include "base/in_background.h"

namespace diogenes {

const char* model_name(Model model) { return model == Model::paper ? "paper" : "replay"; }
Model model_of(std::string_view name) { return name == "replay" ? Model::replay : Model::paper; }

Figure Models::figure(const std::vector<Change>& changes) const {
  return with_replay(expected_benefit(graph_, changes), changes, nullptr);
}

Figure Models::with_replay(Nanoseconds paper, const std::vector<Change>& changes,
                           const Replay::Made* before) const {
  Figure figure;
  figure.paper = figure.benefit = figure.low = figure.high = paper;
  if (!replay_) return figure;
  Estimate estimate = replay_->estimate(changes, before);
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

Models::Made Models::make(const Parts& parts) const {
  Made made{merged(parts), {}, {}};
  made.paper = expected_benefit(graph_, made.changes);
  if (replay_) made.replayed = replay_->make(made.changes);
  return made;
}

std::vector<Figure> Models::figures_beyond(const Made& made, const std::vector<Parts>& of) const {
  std::vector<Figure> figures(of.size());
  each_on_two_threads(of.size(), [&](size_t i) {
    const std::vector<Change> changes = merged(of[i]);
    figures[i] = with_replay(expected_benefit(graph_, replaced(made.changes, changes)) - made.paper, changes,
                             made.replayed ? &*made.replayed : nullptr);
  });
  return figures;
}

Nanoseconds Models::shorter_beyond(
    const Made& made, const std::function<Nanoseconds(uint32_t, uint32_t, uint32_t)>& less) const {
  if (!replay_) return {};
  return replay_->estimate_shorter(replay_->shorter_by(less), made.replayed ? &*made.replayed : nullptr)
      .benefit;
}

}  // namespace diogenes
