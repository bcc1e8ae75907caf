// The benefit of several processes together: which of them ends last, and what they share.
#include <gtest/gtest.h>

#include "analysis/necessity/judge_process.h"
#include "analysis/replay/models.h"
#include "analysis/testing/analysed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

// Launch, wait of 20 that nobody needs, work of 30, in each of two processes that run side by side: each gains 20.
struct TwoProcesses {
  TwoProcesses(uint8_t first, uint8_t second, bool with_parent = false) {
    auto trace = timeline().launch(1).sync(lasting(20)).from(0x100).unnecessary().work(30).launch(1);
    trace.sync(lasting(5)).from(0x200).first_use(after(0)).work(10);
    for (auto [pid, device] : {std::pair{100, first}, std::pair{200, second}}) {
      ProcessOptions options{.pid = pid, .rank = pid / 100 - 1, .launches_traced = true, .device = device};
      options.stage = Stage::tracing;
      write_process(folder.path() / "2", trace, options);
      options.stage = Stage::memory_tracing;
      write_process(folder.path() / "3", trace, options);
    }
    if (with_parent) {  // as mpirun does: it begins before its children, and waits for them
      const auto waiting = timeline().work(500).sync(lasting(1)).from(0x300);
      ProcessOptions options{.pid = 300, .launches_traced = true};
      options.stage = Stage::tracing;
      write_process(folder.path() / "2", waiting, options);
      options.stage = Stage::memory_tracing;
      write_process(folder.path() / "3", waiting, options);
    }
    tracing = load("2", Load::operations);
    Run judged = load("3", Load::evidence);
    join_verdicts(tracing, judged, sites, verdicts);
    graph = build_graph(tracing, sites);
    replay = std::make_unique<Replay>(tracing, sites, graph);
    Models models(graph, replay.get(), Model::replay);
    problems = find_problems({tracing, sites, graph, verdicts, {}, {}, &models, nullptr});
  }

  Run load(const char* name, Load what) {
    auto run = what == Load::evidence
                   ? load_judged_run(folder.path() / name, sites, {.by_hand = verdicts_by_hand})
                   : load_run(folder.path() / name, sites, what);
    EXPECT_TRUE(run.ok());
    return std::move(*run);
  }

  TemporaryFolder folder;
  SiteTable sites;
  Run tracing;
  std::vector<SiteVerdicts> verdicts;
  EventGraph graph;
  std::unique_ptr<Replay> replay;
  Problems problems;
};

TEST(Processes, SideBySideOnGpusOfTheirOwnGainAsOneOfThem) {
  for (auto [first, second] : {std::pair<uint8_t, uint8_t>{1, 2}, {0, 0}}) {  // 0: not known
    TwoProcesses run(first, second);
    ASSERT_EQ(run.problems.found.size(), 1u);
    EXPECT_EQ(run.problems.found[0].count, 2u);
    EXPECT_NEAR(us(run.problems.found[0].benefit), 20, 1);
    EXPECT_GT(run.problems.found[0].figure.low.count, 0);
  }
}

TEST(Processes, WaitForEachOtherAsRanksDo) {
  TwoProcesses run(1, 2);
  ASSERT_EQ(run.problems.found.size(), 1u);
  const auto& figure = run.problems.found[0].figure;
  EXPECT_NEAR(us(figure.low), 20, 1);   // each waits for the one that gains least
  EXPECT_NEAR(us(figure.high), 40, 2);  // each gains while the other waits for it
  EXPECT_EQ(figure.reason, "ranks wait for each other: the low end is the gain of the rank that gains least");
}

TEST(Processes, AParentThatGivesTheGpuNothingTakesNoGainAway) {
  TwoProcesses run(1, 2, true);
  ASSERT_FALSE(run.problems.found.empty());
  EXPECT_NEAR(us(run.problems.found[0].benefit), 20, 1);
}

TEST(Processes, ThatTakeTurnsOnOneGpuMayGainNothing) {
  TwoProcesses run(1, 1);
  ASSERT_EQ(run.problems.found.size(), 1u);
  EXPECT_LE(run.problems.found[0].figure.low.count, 0);
  EXPECT_EQ(run.problems.found[0].figure.reason,
            "processes share one GPU, and the model does not know when each of them gets it");
}

}  // namespace
}  // namespace diogenes
