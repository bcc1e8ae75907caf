// A timeline, analysed and replayed, for tests of needed waits.
#pragma once
#include "analysis/findings/required.h"
#include "analysis/testing/analysed.h"

namespace diogenes::testing {

inline ProblemInput needed_input(const Analysed& analysed) {
  return {analysed.tracing, analysed.sites, analysed.graph, analysed.verdicts, analysed.first_uses, {}};
}

// The model `replay` of a timeline whose launches were traced, on a machine without latencies.
struct Replayed {
  explicit Replayed(const Timeline& trace, int64_t hook_cost_ns = 0)
      : analysed(trace, {.hook_cost_ns = hook_cost_ns, .launches_traced = true}),
        replay(analysed.tracing, analysed.sites, analysed.graph, {.machine = {}}),
        models(analysed.graph, &replay, Model::replay) {}
  RequiredWaits required(const Lines& lines = {}) const {
    ProblemInput input = needed_input(analysed);
    input.models = &models;
    return find_required(input, analysed.problems.found, lines, Nanoseconds{1000}, 10);
  }
  Analysed analysed;
  Replay replay;
  Models models;
};

}  // namespace diogenes::testing
