#include "views/shared/occurrences.h"

#include <gtest/gtest.h>

namespace diogenes {
namespace {

std::vector<ReportProcess> ranks(int count) {
  std::vector<ReportProcess> all;
  for (int i = 0; i < count; ++i) all.push_back({i, 100 + i, "node", "/bin/app"});
  return all;
}

ReportOccurrence in_main(uint32_t process, uint64_t count) { return {process, count, 1, {{0, true, count}}}; }

TEST(Occurrences, TheMainThreadOfTheOnlyProcessNeedsNoWord) {
  EXPECT_EQ(occurrences_text({{std::nullopt, 7, "", ""}}, {in_main(0, 5)}), "");
  EXPECT_EQ(occurrences_text({{std::nullopt, 7, "", ""}}, {}), "");
}

TEST(Occurrences, ThreadsOfTheOnlyProcessAreNamed) {
  const ReportOccurrence one{
      0, 8, 6, {{2, false, 4}, {0, true, 1}, {1, false, 1}, {3, false, 1}, {4, false, 1}}};
  EXPECT_EQ(
      occurrences_text({{std::nullopt, 7, "", ""}}, {one}),
      "thread 2: 4 times, main thread: 1 time, thread 1: 1 time, thread 3: 1 time and in 2 more threads");
}

TEST(Occurrences, RanksThatAreAlikeAreSaidTogether) {
  EXPECT_EQ(occurrences_text(ranks(3), {in_main(0, 5), in_main(1, 5), in_main(2, 5)}),
            "all 3 ranks, 5 times each");
  EXPECT_EQ(occurrences_text(ranks(3), {in_main(0, 5), in_main(2, 6)}), "rank 0: 5 times, rank 2: 6 times");
}

TEST(Occurrences, ProcessesWithoutRanksGoByTheirNumber) {
  const std::vector<ReportProcess> two = {{std::nullopt, 7, "", ""}, {std::nullopt, 9, "", ""}};
  const ReportOccurrence many{1, 6, 2, {{0, true, 3}, {1, false, 3}}};
  EXPECT_EQ(occurrences_text(two, {many}), "process 9: 6 times in 2 threads");
}

TEST(Occurrences, ManyRanksAreCounted) {
  std::vector<ReportOccurrence> all;
  for (uint32_t i = 0; i < 6; ++i) all.push_back(in_main(i, i + 1));
  EXPECT_EQ(occurrences_text(ranks(6), all),
            "rank 0: 1 time, rank 1: 2 times, rank 2: 3 times, rank 3: 4 times and in 2 more");
}

TEST(Occurrences, CountsThoseThatAreChosen) {
  const std::vector<ReportOccurrence> two = {in_main(0, 5), in_main(2, 6)};
  EXPECT_EQ(count_in(ranks(3), two, {}), 11u);
  EXPECT_EQ(count_in(ranks(3), two, {.rank = 2, .pid = std::nullopt}), 6u);
  EXPECT_EQ(count_in(ranks(3), two, {.rank = 1, .pid = std::nullopt}), 0u);
  EXPECT_EQ(count_in(ranks(3), two, {.rank = std::nullopt, .pid = 100}), 5u);
  EXPECT_EQ(count_in(ranks(1), two, {}), 5u) << "a process that the report does not have";
}

TEST(Occurrences, AProcessThatIsNotThereIsAnErrorThatNamesThoseThatAre) {
  Report report;
  report.processes = ranks(3);
  EXPECT_TRUE(check_choice(report, {}));
  EXPECT_TRUE(check_choice(report, {.rank = 2, .pid = 102}));
  EXPECT_STREQ(check_choice(report, {.rank = 7, .pid = std::nullopt}).error().c_str(),
               "--rank: no process of this session has rank 7; there are 0, 1, 2");
  EXPECT_STREQ(check_choice(report, {.rank = std::nullopt, .pid = 5}).error().c_str(),
               "--process: the tracing run has no process 5; there are 100, 101, 102");
  for (ReportProcess& process : report.processes) process.rank.reset();
  EXPECT_STREQ(check_choice(report, {.rank = 0, .pid = std::nullopt}).error().c_str(),
               "--rank: the processes of this session have no ranks");
}

}  // namespace
}  // namespace diogenes
