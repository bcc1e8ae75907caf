#include "expectation.h"

#include <gtest/gtest.h>

namespace diogenes::examples {
namespace {

using nlohmann::json;

const json kFindings = json::parse(R"([
  {"kind": "unnecessary-synchronization", "operation": "cuMemFree", "file": "als/als.cpp", "line": 53},
  {"kind": "duplicate-transfer", "operation": "cuMemcpyHtoD", "file": "als/als.cpp", "line": 47},
  {"kind": "unnecessary-synchronization", "operation": "cuMemcpyHtoD", "file": "als/als.cpp", "line": 47, "required": false}
])");

json problem(const char* kind, const char* operation, const char* file, int line) {
  return {{"kind", kind},
          {"operation", operation},
          {"api", nullptr},
          {"count", 3},
          {"where", {{"function", "f"}, {"file", file}, {"line", line}}}};
}

json report(std::vector<json> problems) { return {{"problems", problems}}; }

const json kFree = problem("unnecessary-synchronization", "cuMemFree", "/src/examples/als/als.cpp", 53);
const json kCopy = problem("duplicate-transfer", "cuMemcpyHtoD", "als/als.cpp", 47);

TEST(Expectation, AsPlantedHasNoDifferences) {
  EXPECT_TRUE(differences(kFindings, report({kFree, kCopy})).empty());
}

TEST(Expectation, WhatIsNotRequiredMayBeThere) {
  const json wait = problem("unnecessary-synchronization", "cuMemcpyHtoD", "als/als.cpp", 47);
  EXPECT_TRUE(differences(kFindings, report({kFree, kCopy, wait})).empty());
}

TEST(Expectation, AMissingFindingIsToldWithItsPlace) {
  const auto told = differences(kFindings, report({kFree}));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0], "missing: duplicate-transfer at cuMemcpyHtoD, als/als.cpp:47 (found 0 of 1)");
}

TEST(Expectation, AnyDifferenceInKindOperationFileOrLineIsAFindingThatNobodyPlanted) {
  for (const json& other : {problem("misplaced-synchronization", "cuMemFree", "als/als.cpp", 53),
                            problem("unnecessary-synchronization", "cuCtxSynchronize", "als/als.cpp", 53),
                            problem("unnecessary-synchronization", "cuMemFree", "als/false_als.cpp", 53),
                            problem("unnecessary-synchronization", "cuMemFree", "als/als.cpp", 54)}) {
    const auto told = differences(kFindings, report({kFree, kCopy, other}));
    ASSERT_EQ(told.size(), 1u) << other;
    EXPECT_TRUE(told[0].starts_with("nobody planted: ")) << told[0];
  }
}

TEST(Expectation, AtLeastCountsFindings) {
  json findings = json::array({kFindings[0]});
  findings[0]["at_least"] = 2;
  EXPECT_EQ(differences(findings, report({kFree})).size(), 1u);
  EXPECT_TRUE(differences(findings, report({kFree, kFree})).empty());
}

TEST(Expectation, ThePlaceIsTheFrameToActOn) {
  EXPECT_EQ(place_of(kFree).line, 53);
  json unknown = kFree;
  unknown["where"]["line"] = nullptr;
  EXPECT_EQ(place_of(unknown).line, 0);
  unknown["where"] = nullptr;
  EXPECT_EQ(place_of(unknown).line, 0);
  EXPECT_EQ(place_of(json::object()).line, 0);
}

}  // namespace
}  // namespace diogenes::examples
