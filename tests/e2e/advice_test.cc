// What a report advises, and whether it is right when it is followed as it is worded.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
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

// The first of `list` that is so, in a report of the program. On a machine that does much else, a wait may find all done, and
// what is sought costs nothing: then it is measured again.
struct Found {
  json one;  // null: none
  std::string report_text;
};
Found find_in(const std::vector<std::string>& command, const char* list,
              const std::function<bool(const json&)>& is) {
  constexpr int kTries = 5;
  Found found;
  for (int i = 0; i < kTries && found.one.is_null(); ++i) {
    const Measured measured = run_measured(command);
    found.report_text = measured.report_text;
    const json& all = measured.report[list];
    const auto first = std::find_if(all.begin(), all.end(), is);
    if (first != all.end()) found.one = *first;
  }
  return found;
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

// Each kernel takes 0.3 ms, and nothing else goes on: what is asked for costs most of the run, in whatever form.
struct Asked {
  const char* how;
  const char* operation;
  bool polls;
};
class Asks : public testing::TestWithParam<Asked> {};
TEST_P(Asks, IsListedAsNeeded) {
  const auto [found, report_text] =
      find_in({built("bin/tests/programs/wanted"), GetParam().how}, "required", [](const json& required) {
        const json calls = required.value("calls", json::array());
        return required["up_to_s"].get<double>() > 0.005 &&
               (required["operation"] == GetParam().operation ||
                std::any_of(calls.begin(), calls.end(),
                            [](const json& call) { return call["operation"] == GetParam().operation; }));
      });
  ASSERT_TRUE(found.is_object()) << report_text;
  EXPECT_EQ(found.value("queries", 0) > 0, GetParam().polls) << found;
}
INSTANTIATE_TEST_SUITE_P(, Asks,
                         testing::Values(Asked{"flag", "cuMemcpyDtoH", false},
                                         Asked{"readback", "cuMemcpyDtoHAsync", false},
                                         Asked{"poll", "cuStreamQuery", true}),
                         [](const auto& asked) { return std::string(asked.param.how); });

TEST(Parts, AreSentByOneCopy) {
  const auto measured = run_measured({built("bin/tests/programs/wanted"), "parts"});
  uint64_t parts = 0;
  for (const json& problem : measured.report["problems"])
    if (problem["kind"] == "small-transfers") parts += problem["count"].get<uint64_t>();
  EXPECT_EQ(parts, 1500u) << measured.report_text;  // 15 of each 16
}

// The short half's copy needs the short half's stream alone.
TEST(Halves, AreToComeInTheirOwnStreams) {
  const std::string program = built("bin/tests/programs/halves");
  EXPECT_EQ(run_alone({program}).output, run_alone({program, "streams"}).output);
  const auto [found, report_text] = find_in({program}, "problems", [](const json& problem) {
    return problem["kind"] == "wide-synchronization" && problem["operation"] == "cuMemcpyDtoH";
  });
  ASSERT_TRUE(found.is_object()) << report_text;
  EXPECT_EQ(found["count"], 16u) << found;
  EXPECT_NE(text(found, "fix").find("cudaMemcpyAsync"), std::string::npos) << found;
}

// Six of sixty waits are needed: the line that uses the result is where the call belongs.
TEST(Seldom, IsToBeCalledWhereItsResultIsUsed) {
  const std::string program = built("bin/tests/programs/seldom");
  EXPECT_EQ(run_alone({program}).output, run_alone({program, "needed"}).output);
  const auto [found, report_text] = find_in({program}, "problems", [](const json& problem) {
    return problem["operation"] == "cuStreamSynchronize" && problem["count"] == 54u;
  });
  ASSERT_TRUE(found.is_object()) << report_text;
  EXPECT_NE(text(found, "fix").find("only where its result is used"), std::string::npos) << found;
  EXPECT_NE(text(found, "fix").find("seldom.cc:"), std::string::npos) << found;
}

// One value of 8 MiB is looked at, which lies in one of four parts; of the copies behind, all.
TEST(Brought, SaysWhatNobodyLooksAt) {
  const std::string program = built("bin/tests/programs/brought");
  EXPECT_EQ(run_alone({program}).output, run_alone({program, "less"}).output);
  const auto [in_part, report_text] = find_in({program}, "required", [](const json& line) {
    return line["count"] == 40u && line["without_unused_s"].get<double>() > 0;
  });
  ASSERT_TRUE(in_part.is_object()) << report_text;
  EXPECT_EQ(in_part["bytes"], 40u * (8u << 20)) << in_part;
  const auto unused = in_part["unused_bytes"].get<uint64_t>();
  EXPECT_GE(unused, 39u * (6u << 20) / 101 * 100) << in_part;
  EXPECT_LE(unused, 40u * (6u << 20)) << in_part;
  EXPECT_NE(text(in_part, "fix").find("bring no more of the data"), std::string::npos) << in_part;
  const auto whole = find_in({program}, "required", [](const json& line) { return line["count"] == 10u; });
  ASSERT_TRUE(whole.one.is_object()) << whole.report_text;
  EXPECT_EQ(whole.one["unused_bytes"], 0u) << whole.one;
}

// 'Pin the memory' alone would change the result: the buffer is filled while its copy is under way.
TEST(Uploads, ArePinnedInTwoBuffers) {
  const std::string program = built("bin/tests/programs/uploads");
  const std::string right = run_alone({program}).output;
  EXPECT_EQ(right, run_alone({program, "turns"}).output);
  EXPECT_NE(right, run_alone({program, "pinned"}).output)
      << "else the advice has nothing to be careful about";
  const auto [found, report_text] = find_in({program}, "problems", [](const json& problem) {
    return problem["kind"] == "pageable-transfer" && problem["operation"] == "cuMemcpyHtoDAsync";
  });
  ASSERT_TRUE(found.is_object()) << report_text;
  EXPECT_NE(text(found, "fix").find("two pinned buffers"), std::string::npos) << found;
}

// The GPU can wait in the CPU's place.
TEST(Relay, IsToBeOrderedOnTheGpu) {
  const std::string program = built("bin/tests/programs/relay");
  EXPECT_EQ(run_alone({program}).output, run_alone({program, "events"}).output);
  const auto [found, report_text] = find_in({program}, "problems", [](const json& problem) {
    return problem["kind"] == "ordering-synchronization" && problem["operation"] == "cuStreamSynchronize";
  });
  ASSERT_TRUE(found.is_object()) << report_text;
  EXPECT_EQ(found["count"], 40u) << found;
  EXPECT_NE(text(found, "fix").find("cudaStreamWaitEvent"), std::string::npos) << found;
}

}  // namespace
}  // namespace diogenes::e2e
