#include "analysis/proof/proved.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/proof/proved_report.h"
#include "analysis/report/kept_report.h"
#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;
namespace fs = std::filesystem;

ProvedCorrection correction(std::string id, std::vector<std::string> keys, double proved_s,
                            std::string difference = "") {
  ProvedCorrection one{.id = std::move(id), .keys = std::move(keys)};
  one.expected_s = one.high_s = 1, one.low_s = 0.8;
  one.proved_s = proved_s, one.error_s = 0.05;
  one.differences_s = {proved_s, proved_s};
  one.calls = 10, one.applied = 9, one.touched = 1;
  one.correcting_s = 0.3, one.looked_s = 0.25, one.other_content = 2, one.ordered = 7;
  one.not_applied = {{"results share a page with other data", 1}};
  one.difference = std::move(difference);
  return one;
}

ProvedSession proved(std::vector<ProvedCorrection> corrections) {
  ProvedSession session{.session_started_ns = 7, .model = "replay", .runtime_s = 10};
  session.own_cost_s = 0.1, session.own_cost_error_s = 0.02;
  session.pairs = 2;
  session.corrections = std::move(corrections);
  session.left_out = {"1 of 3 findings is a transfer"};
  return session;
}

TEST(Proved, ComesBackAsItWasWritten) {
  ProvedCorrection used = correction("P1", {"a"}, 0.9);
  used.used = {{"a", 3}};
  const std::string text = proved_json(proved({used, correction("", {"a", "b"}, 1.5, "x")}));
  const auto back = proved_from_json(text);
  ASSERT_TRUE(back.ok()) << back.error().c_str();
  EXPECT_EQ(proved_json(*back), text);
  EXPECT_EQ(back->corrections[0].not_applied[0].second, 1u);
  EXPECT_EQ(back->corrections[0].used[0].second, 3u);
  EXPECT_EQ(back->corrections[1].difference, "x");
  EXPECT_DOUBLE_EQ(back->most_hidden_s(back->corrections[0]), 0.42);  // hooks, their error, correcting
  ProvedSession phases = *back;
  phases.from_first_call = true;  // the hooks are in both runs of a pair
  EXPECT_DOUBLE_EQ(phases.most_hidden_s(phases.corrections[0]), 0.3);
}

TEST(Proved, WhatWasProvedBeforeIsKept) {
  const ProvedSession before = proved({correction("", {"a", "b"}, 1.5), correction("P1", {"a"}, 0.9),
                                       correction("P2", {"b"}, 0.6, "stdout differs")});
  ProvedSession again = proved({correction("P1", {"a"}, 0.8)});
  again.left_out = {"another"};
  keep_proved(before, again);
  ASSERT_EQ(again.corrections.size(), 3u);
  EXPECT_EQ(again.corrections[0].proved_s, 0.8);
  EXPECT_EQ(again.corrections[1].id, "");
  EXPECT_EQ(again.corrections[2].id, "P2");
  EXPECT_EQ(again.left_out.size(), 2u);

  ProvedSession all = proved({correction("", {"a"}, 1.2)});  // of fewer findings than then
  keep_proved(before, all);
  EXPECT_EQ(all.corrections.size(), 3u);
  for (const auto change : {+[](ProvedSession& one) { one.session_started_ns = 8; },
                            +[](ProvedSession& one) { one.model = "paper"; },
                            +[](ProvedSession& one) { one.from_first_call = true; }}) {
    ProvedSession other = proved({correction("P1", {"a"}, 0.8)});
    change(other);
    keep_proved(before, other);
    EXPECT_EQ(other.corrections.size(), 1u);
  }
}

TEST(Proved, HalfOfTheCallsMustBeCorrectedToSaySomething) {
  ProvedCorrection one = correction("P1", {"a"}, 0.1);
  one.calls = 10, one.applied = 5;
  EXPECT_TRUE(says_something(one));
  one.difference = "stdout differs";
  EXPECT_FALSE(says_something(one));
  one.difference.clear();
  one.differences_s = {0.1};  // one pair: how far off it may be is not known
  EXPECT_FALSE(says_something(one));
  one.differences_s = {0.1, 0.1};
  one.applied = 4;
  EXPECT_FALSE(says_something(one));
  one.calls = 3, one.applied = 1;
  EXPECT_FALSE(says_something(one));
  one.calls = one.applied = 0;
  EXPECT_FALSE(says_something(one));
}

TEST(Proved, NothingIsProvedWhereCorrectingTakesWhatThereIsToGain) {
  ProvedCorrection one = correction("P1", {"a"}, -0.2);
  one.correcting_s = 1.1;
  EXPECT_TRUE(is_too_dear(one));
  one.proved_s = 0.1;  // something was gained all the same
  EXPECT_FALSE(is_too_dear(one));
  one.proved_s = -0.2, one.correcting_s = 0.5;  // it cost less than what was expected to be gained
  EXPECT_FALSE(is_too_dear(one));
}

TEST(Proved, DamagedIsAnErrorAtEachByte) {
  const std::string text = proved_json(proved({correction("P1", {"a"}, 0.9)}));
  for (size_t size = 0; size + 1 < text.size(); ++size)  // without its line end it is whole
    EXPECT_FALSE(proved_from_json(std::string_view(text).substr(0, size)).ok()) << "cut at " << size;
  for (size_t at = 0; at < text.size(); ++at)
    for (unsigned char value : {0x00, 0x2d, 0x30, 0x5d, 0x7f, 0xff}) {
      std::string bytes = text;
      bytes[at] = static_cast<char>(value);
      const auto read = proved_from_json(bytes);  // an error, or figures that can be used
      if (!read) continue;
      EXPECT_GT(read->pairs, 0u);
      for (const ProvedCorrection& one : read->corrections) EXPECT_LE(one.applied, one.calls);
    }
}

TEST(Proved, EachMemberIsLookedAt) {
  const auto good = nlohmann::json::parse(proved_json(proved({correction("P1", {"a"}, 0.9)})));
  auto refused = [&](auto change) {
    nlohmann::json bad = good;
    change(bad);
    const auto read = proved_from_json(bad.dump());
    return read ? std::string() : std::string(read.error().c_str());
  };
  EXPECT_EQ(refused([](auto&) {}), "");
  EXPECT_EQ(refused([](auto& bad) { bad["schema"] = "diogenes-proved/2"; }),
            "is not of the schema diogenes-proved/4");
  for (const auto& item : good.items()) {
    const std::string& key = item.key();
    if (key == "schema") continue;
    EXPECT_EQ(refused([&](auto& bad) { bad.erase(key); }), "has no " + key + " that can be read");
  }
  for (const auto& item : good["corrections"][0].items()) {
    const std::string& key = item.key();
    EXPECT_EQ(refused([&](auto& bad) { bad["corrections"][0][key] = nullptr; }),
              "has no " + key + " that can be read");
  }
  EXPECT_NE(refused([](auto& bad) { bad["pairs"] = 0; }), "");
  EXPECT_NE(refused([](auto& bad) { bad["corrections"][0]["applied"] = 11; }), "");
  EXPECT_NE(refused([](auto& bad) { bad["corrections"][0]["results_equal"] = false; }), "");
  EXPECT_NE(refused([](auto& bad) { bad["corrections"][0]["expected_range_s"] = {1}; }), "");
  EXPECT_NE(refused([](auto& bad) { bad["corrections"] = {1}; }), "");
  EXPECT_NE(refused([](auto& bad) { bad = 3; }), "");
}

TEST(Proved, MeetsWhatWasExpectedWhereTheRangesDo) {
  const auto meets = [](double proved_s, double error_s, double hidden_s, size_t pairs) {
    ProvedCorrection one;
    one.proved_s = proved_s, one.error_s = error_s;
    one.differences_s.assign(pairs, proved_s);
    return meets_expected(one, hidden_s, 1, 0.8, 1.1);
  };
  EXPECT_TRUE(meets(0.9, 0, 0, 100));
  EXPECT_FALSE(meets(0.7, 0.05, 0, 100));
  EXPECT_TRUE(meets(0.7, 0.05, 0.06, 100));  // hidden by the hooks
  EXPECT_FALSE(meets(1.3, 0.1, 9, 100));     // which hide no loss
  EXPECT_TRUE(meets(1.0, 0, -1, 100));
  // Two standard errors of 0.05 are 0.318 for 95 of 100 cases of two pairs, 0.07 of five.
  EXPECT_TRUE(meets(0.49, 0.05, 0, 2));
  EXPECT_FALSE(meets(0.47, 0.05, 0, 2));
  EXPECT_TRUE(meets(0.74, 0.05, 0, 5));
  EXPECT_FALSE(meets(0.72, 0.05, 0, 5));
}

std::string withdrawn_of(std::vector<ProvedCorrection> corrections) {
  std::string keys;
  for (const WithdrawnKey& one : withdrawn_keys(proved(std::move(corrections))))
    keys += one.key + ": " + one.reason + " ";
  return keys;
}

std::string changed(const std::string& key, const std::string& how) {
  return key + ": correcting it changed the results (" + how + ") ";
}

TEST(Proved, WhatChangedTheResultsIsWithdrawn) {
  EXPECT_EQ(withdrawn_of({correction("P1", {"a"}, 1)}), "");
  EXPECT_EQ(withdrawn_of({correction("P1", {"a"}, 1, "x")}), changed("a", "x"));
  // One alone explains the difference of all.
  EXPECT_EQ(withdrawn_of({correction("", {"a", "b", "c"}, 1, "y"), correction("P1", {"a"}, 1),
                          correction("P2", {"b"}, 1, "x")}),
            changed("b", "x"));
  // It is one of those that were not corrected alone.
  EXPECT_EQ(withdrawn_of({correction("", {"a", "b", "c"}, 1, "y"), correction("P1", {"a"}, 1)}),
            changed("b", "y") + changed("c", "y"));
  EXPECT_EQ(withdrawn_of(
                {correction("", {"a", "b"}, 1, "y"), correction("P1", {"a"}, 1), correction("P2", {"b"}, 1)}),
            "");
  // Nothing was corrected alone, so it says nothing of `a`.
  ProvedCorrection idle = correction("P1", {"a"}, 0);
  idle.applied = 0;
  EXPECT_EQ(withdrawn_of({correction("", {"a", "b"}, 1, "y"), idle}), changed("a", "y") + changed("b", "y"));
}

TEST(Proved, WhatWasUsedThoughNothingWasToNeedItIsWithdrawn) {
  const std::string reason =
      "when it was corrected, the program used what it waits for before any other wait ";
  ProvedCorrection all = correction("", {"a", "b"}, 1), one = correction("P1", {"a"}, 1);
  all.used = {{"a", 2}}, one.used = {{"a", 1}};
  EXPECT_EQ(withdrawn_of({all, one}), "a: " + reason);
  // It may explain why all of them together changed the results.
  all.difference = "x";
  EXPECT_EQ(withdrawn_of({all}), "a: " + reason);
  all.used.clear();
  EXPECT_EQ(withdrawn_of({all}), changed("a", "x") + changed("b", "x"));
}

ReportProblem problem(const char* id, const char* key, double benefit_s,
                      const char* kind = "unnecessary-synchronization", const char* operation = "cuMemFree") {
  ReportProblem one;
  one.id = id, one.key = key, one.kind = kind, one.operation = operation;
  one.expected_benefit_s = benefit_s;
  return one;
}

// Of 10 s: P1 and P2 gain 1 s and 0.5 s, together 1.6 s; P3, a transfer, 0.4 s.
Report example() {
  Report report;
  report.model = "replay";
  report.runtime_s = 10;
  report.problems = {problem("P1", "a", 1), problem("P2", "b", 0.5),
                     problem("P3", "c", 0.4, "duplicate-transfer", "cuMemcpyHtoD")};
  report.problems[0].range = ReportRange{0.95, 1.05};
  report.functions = {{"cuMemFree", 20, 2, 2, 1.6}, {"cuMemcpyHtoD", 9, 1, 1, 0.4}};
  report.groups = {{"G1", "folded-function", "Fold", 1.6, 16, 2, 0, {"P1", "P2"}},
                   {"G2", "caller", "all", 2, 20, 2, 1, {"P1", "P2", "P3"}},
                   {"G3", "sequence", "in a row", 2, 20, 2, 1, {"P1", "P2", "P3"}},
                   {"G4", "single-point", "P1", 1, 10, 1, 0, {"P1"}}};
  report.together = ReportTogether{2, 20, {1.9, 2.1}};
  report.main_loop = ReportLoop{10, 5, 1.5};
  ReportRequired& required = report.required.emplace_back();
  required.id = "R1", required.key = "r", required.up_to_s = 3;
  required.calls = {{"r", "", "", 1, true}, {"s", "", "", 1, true}};
  report.required_together.emplace();
  return report;
}

ReportTogether sum(const std::vector<std::string>& ids) {
  double seconds = 0;
  for (const ReportProblem& one : example().problems)
    if (std::find(ids.begin(), ids.end(), one.id) != ids.end()) seconds += one.expected_benefit_s;
  return {seconds, 10 * seconds, {seconds, seconds}};
}

TEST(ProvedReport, HasGroupsWhoseTransfersWereCorrectedToo) {
  Report report = example();
  add_proof(proved({correction("G7", {"a", "b", "c"}, 1.9), correction("P1", {"a"}, 0.9)}), {}, {}, report);
  EXPECT_FALSE(report.groups[0].proved);
  ASSERT_TRUE(report.groups[1].proved);  // by its findings, whatever its id was
  EXPECT_FALSE(report.groups[1].proved->up_to);
  EXPECT_DOUBLE_EQ(report.groups[1].proved->expected_s, 2);
}

TEST(ProvedReport, HasWhatWasProvedOfEach) {
  Report report = example();
  ProvedCorrection needed = correction("R1", {"r", "s"}, 0.2), fold = correction("G1", {"b", "a"}, 0.7);
  add_proof(proved({correction("", {"a", "b"}, 1.4), correction("P9", {"a"}, 0.9), needed, fold,
                    correction("G2", {"a", "b"}, 0.7)}),
            {}, {}, report);
  const ReportProved& first = *report.problems[0].proved;  // by its key, whatever its id was
  EXPECT_DOUBLE_EQ(first.expected_percent, 10);
  EXPECT_DOUBLE_EQ(first.seconds, 0.9);
  EXPECT_DOUBLE_EQ(first.percent, 9);
  EXPECT_DOUBLE_EQ(first.error_percent, 0.5);
  EXPECT_EQ(first.calls, 5u);
  EXPECT_EQ(first.applied, 5u);    // 9 in two runs: 4.5
  EXPECT_TRUE(first.as_expected);  // 0.9 + 0.05 + 0.12 reaches 0.95
  EXPECT_FALSE(report.problems[1].proved);
  EXPECT_TRUE(report.required[0].proved->up_to);
  EXPECT_TRUE(report.required[0].proved->as_expected);
  EXPECT_FALSE(report.groups[0].proved->as_expected);  // 0.7 + 0.17 of 1.6
  EXPECT_FALSE(report.groups[0].proved->up_to);
  ASSERT_TRUE(report.groups[1].proved);
  EXPECT_TRUE(report.groups[1].proved->up_to);  // with a call that was not corrected
  EXPECT_TRUE(report.groups[1].proved->as_expected);
  EXPECT_FALSE(report.groups[3].proved);
  ASSERT_TRUE(report.proof->together);
  EXPECT_DOUBLE_EQ(report.proof->together->expected_s, 1);  // as it was then: the transfer is not in it
  EXPECT_EQ(report.proof->findings, 2u);
  EXPECT_TRUE(report.proof->withdrawn.empty());
  EXPECT_EQ(report.problems.size(), 3u);
}

TEST(ProvedReport, OfAllFindingsExpectedIsWhatTheReportSays) {
  Report report = example();
  ProvedCorrection together = correction("", {"a", "b", "c"}, 1.4);
  together.error_s = 0;
  add_proof(proved({together}), {}, {}, report);
  EXPECT_DOUBLE_EQ(report.proof->together->expected_s, 2);
  EXPECT_FALSE(report.proof->together->as_expected);
  report = example();
  report.model = "paper";  // of which a part of the findings was not expected anything
  add_proof(proved({correction("", {"a", "b"}, 1.4)}), {}, {}, report);
  EXPECT_FALSE(report.proof->together);
}

TEST(ProvedReport, AWithdrawnFindingIsInNoSum) {
  Report report = example();
  ReportTimeline& timeline = report.timeline.emplace();
  timeline.lanes.resize(1);
  for (int32_t position : {0, 1, 2, -1})
    timeline.lanes[0].intervals.push_back({.problem = position, .required = 0});
  add_proof(proved({correction("", {"a", "b"}, 1.4, "y"), correction("P1", {"a"}, 0.9, "x"),
                    correction("P2", {"b"}, 0.45), correction("R1", {"r"}, 0, "z")}),
            {}, sum, report);
  ASSERT_EQ(report.problems.size(), 2u);
  EXPECT_EQ(report.problems[0].id, "P2");
  EXPECT_TRUE(report.problems[0].proved);
  EXPECT_TRUE(report.required.empty());
  EXPECT_FALSE(report.required_together);
  ASSERT_EQ(report.proof->withdrawn.size(), 2u);
  EXPECT_EQ(report.proof->withdrawn[0].finding.id, "P1");
  EXPECT_EQ(report.proof->withdrawn[0].reason, "correcting it changed the results (x)");
  EXPECT_EQ(report.proof->withdrawn[1].finding.kind, "needed-wait");
  EXPECT_DOUBLE_EQ(report.proof->withdrawn[1].finding.expected_benefit_s, 3);
  EXPECT_FALSE(report.proof->together);  // what was corrected then is not what is left
  EXPECT_DOUBLE_EQ(report.together->expected_benefit_s, 0.9);
  EXPECT_DOUBLE_EQ(report.functions[0].expected_benefit_s, 0.5);
  EXPECT_DOUBLE_EQ(report.functions[1].expected_benefit_s, 0.4);
  EXPECT_DOUBLE_EQ(report.main_loop->expected_benefit_s, 1.5 * 0.9 / 2);
  ASSERT_EQ(report.groups.size(), 1u);  // what is left of the others is one finding, or no sequence
  EXPECT_EQ(report.groups[0].members, (std::vector<std::string>{"P2", "P3"}));
  EXPECT_DOUBLE_EQ(report.groups[0].expected_benefit_s, 0.9);
  EXPECT_EQ(report.groups[0].synchronization_issues, 1u);
  EXPECT_EQ(report.groups[0].transfer_issues, 1u);
  const auto& intervals = report.timeline->lanes[0].intervals;
  EXPECT_EQ(intervals[0].problem, -1);
  EXPECT_EQ(intervals[1].problem, 0);
  EXPECT_EQ(intervals[2].problem, 1);
  EXPECT_EQ(intervals[3].problem, -1);
  EXPECT_EQ(intervals[0].required, -1);
}

TEST(ProvedReport, WhatIsAllowedStaysOutOfTheSum) {
  Report report = example();
  for (ReportProblem& one : report.problems) one.source_key = one.key;
  add_proof(proved({correction("P1", {"a"}, 0.9, "x")}), {"c"}, sum, report);
  EXPECT_DOUBLE_EQ(report.together->expected_benefit_s, 0.5);
  report = example();
  report.problems.resize(1);
  add_proof(proved({correction("P1", {"a"}, 0.9, "x")}), {}, sum, report);
  EXPECT_FALSE(report.together);
  EXPECT_EQ(report.functions[0].expected_benefit_s, 0);
}

// Once a round: A waits 100 and leaves 2 of work, B waits 10 and leaves 3.
class ProvedFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    auto trace = timeline();
    for (int i = 0; i < 300; ++i) {
      trace.launch(0).sync(lasting(100)).from(0x100).unnecessary().work(2);
      trace.launch(0).sync(lasting(10)).from(0x200).unnecessary().work(3);
      trace.sync(lasting(0)).from(0x500).needed(kOrder);
    }
    write_session(folder.path(), trace, {.launches_traced = true}, 70'000);
    auto made = analyse(folder.path(), options);
    ASSERT_TRUE(made.ok()) << made.error().c_str();
    before = *made;
    ASSERT_EQ(before.problems.size(), 2u);
  }
  void write(const std::string& text) const {
    std::ofstream(folder.path() / kProvedFile, std::ios::binary | std::ios::trunc) << text;
  }
  // As if the session had been proved.
  std::string text_of(ProvedCorrection one) const {
    ProvedSession file = proved({std::move(one)});
    file.session_started_ns = read_session(folder.path())->started_ns;
    return proved_json(file);
  }
  Report read() const {
    auto report = analyse_proved(folder.path(), options);
    EXPECT_TRUE(report.ok());
    return *report;
  }

  TemporaryFolder folder;
  const AnalysisOptions options{.model = Model::paper, .judge = verdicts_by_hand};
  Report before;
};

TEST_F(ProvedFolder, WithoutAFileNothingChanges) {
  const Report report = read();
  EXPECT_EQ(report_bytes(report), report_bytes(before));
  EXPECT_FALSE(report.proof);
}

TEST_F(ProvedFolder, AFileThatCannotBeUsedIsOneNotice) {
  const std::string good = text_of(correction("P1", {before.problems[0].key}, 0.01));
  std::string other = good;
  other.replace(other.find("proved/4"), 8, "proved/9");
  for (const std::string& text :
       {std::string(), good.substr(0, good.size() / 2), other, proved_json(proved({}))}) {
    write(text);
    const Report report = read();
    EXPECT_FALSE(report.proof);
    ASSERT_EQ(report.notices.size(), before.notices.size() + 1) << text;
    EXPECT_EQ(report.notices.back().code, "proved-left-out");
    Report without = report;
    without.notices.pop_back();
    EXPECT_EQ(report_bytes(without), report_bytes(before));
  }
}

TEST_F(ProvedFolder, IsShownOfAKeptReport) {
  ASSERT_TRUE(keep_report(folder.path(), options, report_bytes(before)).ok());
  fs::create_directories(folder.path() / stage_name(Stage::proving) / "1");
  std::ofstream(folder.path() / stage_name(Stage::proving) / "1" / "stdout") << "what it printed";
  write(text_of(correction("P1", {before.problems[0].key}, 0.01)));
  const auto kept = read_kept_proved(folder.path(), options);
  ASSERT_TRUE(kept);
  EXPECT_DOUBLE_EQ(kept->problems[0].proved->seconds, 0.01);
  write(text_of(correction("P1", {before.problems[0].key}, 0.01, "x")));
  EXPECT_FALSE(read_kept_proved(folder.path(), options));
}

TEST_F(ProvedFolder, SumsAreThoseWithoutTheWithdrawn) {
  write(text_of(correction("P1", {before.problems[0].key}, 0.01, "x")));
  const Report report = read();
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0].id, "P2");
  EXPECT_DOUBLE_EQ(report.together->expected_benefit_s, before.problems[1].expected_benefit_s);
  const Result<Estimator> estimator = Estimator::make(folder.path(), options);
  ASSERT_TRUE(estimator.ok());
  EXPECT_EQ(report_bytes(proved_report(folder.path(), options, *estimator)), report_bytes(report));
}

}  // namespace
}  // namespace diogenes
