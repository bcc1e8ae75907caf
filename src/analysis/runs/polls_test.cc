#include "analysis/runs/polls.h"

#include <gtest/gtest.h>

#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

Timeline& query(Timeline& trace, uint64_t place, bool ready) {
  trace.call("cuStreamQuery", lasting(0), 1).from(place).without_wait();
  return ready ? trace : trace.flags(kFailed);
}

std::vector<std::pair<uint32_t, uint32_t>> polls_in(const Timeline& trace) {
  TemporaryFolder folder;
  write_process(folder.path() / "2", trace);
  SiteTable sites;
  auto run = load_run(folder.path() / "2", sites, Load::operations);
  std::vector<std::pair<uint32_t, uint32_t>> found;
  for (const Poll& poll : polls_of(run->processes[0].threads[0].operations, sites))
    found.emplace_back(poll.first, poll.last);
  return found;
}

using Found = std::vector<std::pair<uint32_t, uint32_t>>;

TEST(Polls, AreQueriesInARowOfWhichTheLastSucceeds) {
  auto trace = timeline();
  query(trace, 0x100, true);  // 0: done at the first asking
  query(trace, 0x100, false).work(20);
  query(trace, 0x100, false);
  query(trace, 0x100, true);  // 1 to 3
  query(trace, 0x100, false);
  query(trace, 0x200, true);  // 4, 5: of two sites
  query(trace, 0x100, false);
  trace.sync(lasting(5)).from(0x300);
  query(trace, 0x100, true);   // 6 to 8: another call in between
  query(trace, 0x100, false);  // 9: never done
  EXPECT_EQ(polls_in(trace), (Found{{1, 3}}));
}

TEST(Polls, BeginBehindTheWorkBetweenTwoQueries) {
  auto trace = timeline();
  query(trace, 0x100, false).work(21);
  query(trace, 0x100, false);
  query(trace, 0x100, true);
  query(trace, 0x200, false).work(21);
  query(trace, 0x200, true);
  EXPECT_EQ(polls_in(trace), (Found{{1, 2}}));
}

TEST(Polls, GoOnWhereTheThreadLostItsProcessor) {
  auto trace = timeline();
  for (int i = 0; i < 15; ++i) query(trace, 0x100, false);
  trace.work(21);  // 15 are too few to tell
  query(trace, 0x100, true);
  for (int i = 0; i < 16; ++i) query(trace, 0x100, false);
  trace.work(4000);
  query(trace, 0x100, true);  // 16 to 32
  EXPECT_EQ(polls_in(trace), (Found{{16, 32}}));
}

}  // namespace
}  // namespace diogenes
