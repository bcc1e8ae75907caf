// What a report advises, and whether it is right when it is followed as it is worded.
#include <gtest/gtest.h>

#include <set>

#include "measured.h"

namespace diogenes::e2e {
namespace {

using nlohmann::json;

std::set<std::string> apart(const json& report) {
  std::set<std::string> ids;
  for (const json& problem : report["problems"])
    for (const json& condition : problem["conditions"])
      if (condition["code"] == "not-together") ids.insert(problem["id"]);
  return ids;
}

// Allocated once, the staging memory is filled again while its copy may be under way: the event has to be waited for.
TEST(Staging, AllocatingOnceAndNotWaitingAreNotSoldTogether) {
  const std::string program = built("bin/tests/programs/staging");
  EXPECT_EQ(run_alone({program}).output, run_alone({program, "once"}).output);
  const auto measured = run_measured({program});
  const std::set<std::string> alone = apart(measured.report);
  EXPECT_FALSE(alone.empty()) << measured.report_text;
  bool hoists = false, waits = false;  // of those that go together
  for (const json& problem : measured.report["problems"]) {
    if (alone.contains(problem["id"])) continue;
    hoists = hoists || text(problem, "fix").find("allocate once") != std::string::npos;
    waits = waits || problem["operation"] == "cuEventSynchronize";
  }
  EXPECT_FALSE(hoists && waits) << measured.report_text;
  EXPECT_TRUE(hoists || waits) << measured.report_text;
  for (const json& group : measured.report["groups"])
    for (const json& member : group["members"]) EXPECT_FALSE(alone.contains(member)) << group;
}

}  // namespace
}  // namespace diogenes::e2e
