// Test support: a timeline taken through the runs, the join, the graph and the search for problems.
#pragma once
#include <gtest/gtest.h>

#include "analysis/findings/problems.h"
#include "analysis/necessity/judge_process.h"
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
    auto run = evidence ? load_judged_run(folder.path() / name, sites, {.by_hand = verdicts_by_hand})
                        : load_run(folder.path() / name, sites, Load::operations);
    EXPECT_TRUE(run.ok()) << run.error().c_str();
    return std::move(*run);
  }
};

// Once round: A waits 100 and leaves 2 of work to B, which waits 0 and leaves 100; C waits 10 and leaves 3 to
// D, which leaves 1 to a needed wait. By the model of the paper A alone gains 2, A and B 100, C and D 3 + 1, all 104.
inline Timeline four_in_a_row(int rounds) {
  auto trace = timeline();
  for (int i = 0; i < rounds; ++i) {
    trace.launch(0).sync(lasting(100)).from(0x100).unnecessary().work(2);
    trace.sync(lasting(0)).from(0x200).unnecessary().work(100);
    trace.launch(0).sync(lasting(10)).from(0x300).unnecessary().work(3);
    trace.sync(lasting(0)).from(0x400).unnecessary().work(1);
    trace.sync(lasting(0)).from(0x500).needed(kOrder);
  }
  return trace;
}

// The benefit of the one problem that the timeline has.
inline double only_benefit_us(const Timeline& trace) {
  Analysed analysed(trace);
  EXPECT_EQ(analysed.problems.found.size(), 1u);
  return analysed.problems.found.empty() ? -1 : us(analysed.problems.found[0].benefit);
}

}  // namespace diogenes::testing
