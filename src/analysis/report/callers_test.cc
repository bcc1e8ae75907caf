#include "analysis/report/callers.h"

#include <gtest/gtest.h>

namespace diogenes {
namespace {

ReportFrame at(const char* function, int line) {
  ReportFrame frame;
  frame.function = function;
  frame.file = "/src/main.cc";
  frame.line = line;
  frame.module = "/bin/app";
  frame.owner = FrameOwner::application;
  return frame;
}

std::vector<ReportFrame> through(int caller) {
  ReportFrame driver;
  driver.owner = FrameOwner::runtime;
  return {driver, at("wait_all", 10), at("caller", caller), at("main", 90)};
}

std::vector<ReportCondition> told(const std::vector<std::vector<ReportFrame>>& needed,
                                  const char* kind = "unnecessary-synchronization") {
  std::vector<ReportProblem> problems(1);
  problems[0].kind = kind;
  problems[0].stack = through(20);
  tell_callers_apart(problems, needed);
  return problems[0].conditions;
}

TEST(Callers, AreToldWhereOneLineIsReachedFromSeveral) {
  const auto one = told({through(30)});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].code, "callers");
  EXPECT_EQ(one[0].text,
            "only where the call comes from main.cc:20: what comes from main.cc:30 needs the wait");
  EXPECT_EQ(
      told({through(40), through(30), through(30)})[0].text,
      "only where the call comes from main.cc:20: what comes from main.cc:30 and main.cc:40 needs the wait");
  EXPECT_EQ(
      told({through(40), through(30), through(50)})[0].text,
      "only where the call comes from main.cc:20: what comes from main.cc:30 and 2 more places needs the wait");
}

TEST(Callers, AreNotToldOfTheSameStackOrAnotherLine) {
  EXPECT_TRUE(told({}).empty());
  EXPECT_TRUE(told({through(20)}).empty());
  auto elsewhere = through(30);
  elsewhere[1].line = 11;
  EXPECT_TRUE(told({elsewhere, {}}).empty());
  EXPECT_TRUE(told({through(30)}, "duplicate-transfer").empty());
}

}  // namespace
}  // namespace diogenes
