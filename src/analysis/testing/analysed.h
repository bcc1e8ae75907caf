// Test support: a timeline taken through the runs, the join, the graph and the search for problems.
#pragma once
#include <gtest/gtest.h>

#include "analysis/findings/problems.h"
#include "analysis/testing/trace_builder.h"

namespace diogenes::testing {

inline double us(Nanoseconds time) { return static_cast<double>(time.count) / 1000; }

struct Analysed {
  explicit Analysed(const Timeline& trace, ProcessOptions options = {}, Nanoseconds threshold = {},
                    const Timeline* later_trace = nullptr) {
    const Timeline& later = later_trace ? *later_trace : trace;
    options.stage = Stage::tracing;
    write_process(folder.path() / "2", trace, options);
    options.stage = Stage::memory_tracing;
    write_process(folder.path() / "3", later, options);
    options.stage = Stage::sync_use;
    write_process(folder.path() / "4", later, options);
    load(threshold);
  }

  // All that was found, fixed at once.
  double together_us() const {
    std::vector<const std::vector<Change>*> parts;
    for (const Problem& problem : problems.found) parts.push_back(&problem.changes);
    return us(expected_benefit(graph, merged(parts)));
  }

  TemporaryFolder folder;
  SiteTable sites;
  Run tracing, memory_tracing, sync_use;
  std::vector<SiteVerdicts> verdicts;
  std::vector<SiteFirstUses> first_uses;
  std::vector<CallContext> call_contexts;
  JoinResult join;
  EventGraph graph;
  Problems problems;

 private:
  void load(Nanoseconds threshold) {
    tracing = load_one("2", false);
    memory_tracing = load_one("3", true);
    sync_use = load_one("4", true);
    join = join_verdicts(tracing, memory_tracing, sites, verdicts);
    call_contexts = call_contexts_of(memory_tracing, sites);
    join_first_uses(tracing, sync_use, sites, first_uses);
    graph = build_graph(tracing, sites);
    problems =
        find_problems({tracing, sites, graph, verdicts, first_uses, threshold, nullptr, &call_contexts});
  }
  Run load_one(const char* name, bool evidence) {
    auto run = load_run(folder.path() / name, sites, evidence ? Load::evidence : Load::operations,
                        {.by_hand = verdicts_by_hand});
    EXPECT_TRUE(run.ok()) << run.error().c_str();
    return std::move(*run);
  }
};

// The benefit of the one problem that the timeline has.
inline double only_benefit_us(const Timeline& trace) {
  Analysed analysed(trace);
  EXPECT_EQ(analysed.problems.found.size(), 1u);
  return analysed.problems.found.empty() ? -1 : us(analysed.problems.found[0].benefit);
}

}  // namespace diogenes::testing
