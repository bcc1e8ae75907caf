#include "analysis/report/source_key.h"

#include <gtest/gtest.h>

namespace diogenes {
namespace {

ReportFrame frame(std::string function, int line, uint64_t offset,
                  FrameOwner owner = FrameOwner::application) {
  ReportFrame result{std::move(function), "a.cc", line, "/app", offset};
  result.owner = owner;
  return result;
}

ReportProblem problem(int line, uint64_t offset, std::string function = "void step<int>(int)") {
  ReportProblem result;
  result.kind = "unnecessary-synchronization";
  result.operation = "cuMemFree";
  result.stack = {frame("cudaFree", 0, 1, FrameOwner::runtime), frame(std::move(function), line, offset),
                  frame("main", 90, 2)};
  result.where = result.stack[1];
  return result;
}

std::vector<std::string> keys(std::vector<ReportProblem> problems) {
  Report report;
  report.problems = std::move(problems);
  set_source_keys(report);
  std::vector<std::string> result;
  for (const ReportProblem& one : report.problems) result.push_back(one.source_key);
  return result;
}

TEST(SourceKey, SurvivesAddedLinesAndARebuild) {
  EXPECT_EQ(keys({problem(10, 0x100)}), keys({problem(17, 0x240)}));
  EXPECT_EQ(keys({problem(10, 0x100)}), keys({problem(10, 0x100, "void step<float>(float) const")}));
  ReportProblem other_libc = problem(10, 0x100);
  other_libc.stack.push_back(frame("__libc_start_call_main", 0, 9, FrameOwner::runtime));
  EXPECT_EQ(keys({problem(10, 0x100)}), keys({other_libc}));
}

TEST(SourceKey, TellsKindCallAndFunctionsApart) {
  ReportProblem kind = problem(10, 0x100), call = kind, function = problem(10, 0x100, "void leap()");
  kind.kind = "misplaced-synchronization";
  call.operation = "cuMemFreeHost";
  const std::string key = keys({problem(10, 0x100)})[0];
  for (const ReportProblem& other : {kind, call, function}) EXPECT_NE(keys({other})[0], key);
}

TEST(SourceKey, NumbersWhatIsAlikeByItsLine) {
  const std::string key = keys({problem(10, 0x100)})[0];
  EXPECT_EQ(keys({problem(30, 0x300), problem(10, 0x100), problem(20, 0x200)}),
            (std::vector<std::string>{key + "-3", key, key + "-2"}));
}

}  // namespace
}  // namespace diogenes
