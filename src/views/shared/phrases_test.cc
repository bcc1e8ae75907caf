#include "views/shared/phrases.h"

#include <gtest/gtest.h>

#include <utility>

#include "views/testing/sample_reports.h"
#include "views/text/problem_text.h"

namespace diogenes {
namespace {

TEST(Phrases, TheProgramAsAPersonCallsIt) {
  EXPECT_EQ(program_name({"/opt/app/solver", "--size", "3"}), "solver");
  EXPECT_EQ(program_name({"python3", "-u", "src/train.py", "--epochs", "2"}), "train.py");
  EXPECT_EQ(program_name({"/usr/bin/python3.12", "-m", "bench.run"}), "bench.run");
  EXPECT_EQ(program_name({"mpirun", "-n", "2", "./jacobi"}), "jacobi");
  EXPECT_EQ(program_name({"python3"}), "python3");
  EXPECT_EQ(program_name({}), "");
}

TEST(Phrases, WhatShellsTakeBack) {
  EXPECT_EQ(quoted("a/b-c.1"), "a/b-c.1");
  EXPECT_EQ(quoted("two words"), "'two words'");
  EXPECT_EQ(quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(quoted(""), "''");
  EXPECT_EQ(quoted("a\nb"), "'a?b'");
}

TEST(Phrases, OfAFinding) {
  Report report = als_report();
  Outline list = outline(report);
  EXPECT_EQ(finding_phrase(list.findings[0]), "cudaFree: needless wait");
  EXPECT_EQ(finding_phrase(list.findings[1]), "thrust::copy: data was there");
  EXPECT_EQ(finding_phrase(list.findings[2]), "cudaDeviceSynchronize: early wait");
  report.problems[2].api = "cudaFreeHost";
  report.problems[2].kind = "duplicate-transfer";
  EXPECT_EQ(finding_phrase(outline(report).findings[0]),
            "cudaFree and 1 more: needless wait and data was there");
  EXPECT_EQ(finding_phrase(outline(report).findings[0], 40), "cudaFree and 1 more: needless wait an...");
  EXPECT_EQ(kind_phrase("missed-parallelization"), "missed parallelization");
}

TEST(Phrases, OfAFindingThatStandsApart) {
  Report report = als_report();
  for (ReportProblem& problem : report.problems)
    if (problem.kind == "misplaced-synchronization")
      problem.conditions.push_back({"not-together", "not together with the others"});
  const Outline list = outline(report);
  EXPECT_EQ(finding_phrase(list.findings[2]), "cudaDeviceSynchronize: early wait (not with the others)");
  EXPECT_NE(headline(report, list).find("at 2 places"), std::string::npos) << headline(report, list);
  EXPECT_EQ(apart_text(list.findings[2]), "not together with the others");
  EXPECT_EQ(apart_text(list.findings[0]), "");
}

TEST(Phrases, OfWaitsThatWereNotJudged) {
  ReportRequired required;
  required.count = 5;
  required.used_for = "the CPU uses its result";
  required.not_judged = 2;
  EXPECT_EQ(use_text(required, ""), "the CPU uses its result; 2 of 5 were not judged");
  required.not_judged = 5;
  EXPECT_EQ(use_text(required, ""), "not judged: its result could not be watched");
  required.reasons = {{"unresolved", 5}};
  EXPECT_EQ(use_text(required, ""), "not judged: the run that watches memory did not get that far");
  required.reasons = {{"other-thread", 5}, {"over-budget", 5}};
  EXPECT_EQ(use_text(required, ""), "not judged: it was not looked at, to keep within --max-overhead");
}

// Not judged is not needed, and is not called that.
TEST(Phrases, OfWaitsThatMayBeNeeded) {
  ReportRequired judged, not_judged;
  judged.id = "R1";
  judged.count = not_judged.count = 5;
  judged.not_judged = 4;
  not_judged.not_judged = 5;
  EXPECT_EQ(required_kind(judged), "needed wait");
  EXPECT_EQ(required_kind(not_judged), "wait not judged");
  EXPECT_EQ(required_title({judged, judged}), "Needed waits");
  EXPECT_EQ(required_title({judged, not_judged}), "Waits needed or not judged");
  EXPECT_EQ(required_title({not_judged}), "Waits not judged");
  Report report;
  report.synchronizations = 10;
  report.required = {not_judged};
  EXPECT_NE(headline(report, outline(report)).find("; a wait not judged ("), std::string::npos)
      << headline(report, outline(report));
  report.required_together.emplace();
  report.required = {judged, not_judged};
  EXPECT_NE(headline(report, outline(report)).find("; waits needed or not judged cost up to"),
            std::string::npos)
      << headline(report, outline(report));
}

TEST(Phrases, OfWhatALineDoesForItsResults) {
  ReportRequired required;
  required.count = 200;
  required.bytes = 1600;
  required.up_to_s = 0.1;
  required.range = {0.09, 0.3, "", 0, 0};
  required.used_for = "the CPU uses its result";
  required.in_a_row = 99;
  EXPECT_EQ(use_text(required, ""), "the CPU uses its result");
  required.in_a_row = 150;
  EXPECT_EQ(use_text(required, ""), "the CPU uses its result; 200 results of 8 bytes are brought one by one");
  required.bytes = 200 << 10;
  required.launches = 400;
  required.at_most_s = 0.3;
  EXPECT_EQ(
      use_text(required, ""),
      "the CPU uses its result; up to 300 ms if the 400 kernels that the line launches right before can go, too");
  // The advice asks for all of that: the figure is without it.
  required.launches = 0;
  required.work_s = 0.126;
  required.bytes = 880 << 20;
  required.waits_gain_s = 0.114;
  EXPECT_EQ(
      use_text(required, ""),
      "the CPU uses its result; that is without the CPU's 126 ms of work on the 880 MiB that are brought, too; "
      "the waits alone gain 114 ms");
  required.turns = required.count - 10;
  required.loops = 10;
  EXPECT_EQ(
      use_text(required, ""),
      "the CPU uses its result; with the 200 turns of the loop around it made at once (it is run 10 times); "
      "the waits alone gain 114 ms");
}

TEST(Phrases, OfDataThatNobodyLooksAt) {
  ReportRequired required;
  required.count = 100;
  required.used_for = "the CPU uses its result";
  required.bytes = 100 << 20;
  required.unused_bytes = 75 << 20;
  EXPECT_EQ(use_text(required, ""),
            "the CPU uses its result; nobody looks at 75.0 MiB of the 100 MiB that are brought");
  required.without_unused_s = 0.0127;
  EXPECT_EQ(
      use_text(required, ""),
      "the CPU uses its result; nobody looks at 75.0 MiB of the 100 MiB that are brought; bringing only the "
      "rest gains 12.7 ms");
}

TEST(Phrases, OfLoopsOfQueries) {
  ReportRequired required;
  required.count = 300;
  required.queries = 148'000;
  EXPECT_EQ(use_text(required, ""), "the program asks 148,000 times whether the work is done");
  required.used_for = "the CPU uses its result";
  EXPECT_EQ(use_text(required, ""),
            "the CPU uses its result; the program asks 148,000 times whether the work is done");
}

TEST(Phrases, Headline) {
  Report report = als_report();
  const std::string needed = "; a needed wait (R1) costs up to 190 ms (15.2%)",
                    beyond = needed + " beyond that";
  report.gpu_in_use_s = 1.2;
  EXPECT_EQ(headline(report, outline(report)),
            "270 ms of 1.25 s (21.6%) can be saved at 3 places [265 ms to 275 ms]" + beyond);
  report.gpu_in_use_s = 0.5;
  EXPECT_EQ(
      headline(report, outline(report)),
      "270 ms of 1.25 s (21.6%) can be saved at 3 places [265 ms to 275 ms], 54.0% of the 500 ms in which the GPU "
      "is used" +
          beyond);
  report.gpu_in_use_s = 1.2;
  report.main_loop = {500, 12, 0.27};
  EXPECT_EQ(
      headline(report, outline(report)),
      "270 ms of 1.25 s (21.6%) can be saved at 3 places [265 ms to 275 ms], 540 us in each of 500 iterations" +
          beyond);
  report.main_loop->expected_benefit_s = 0.2;  // 70 ms are saved outside of it
  EXPECT_EQ(
      headline(report, outline(report)),
      "270 ms of 1.25 s (21.6%) can be saved at 3 places [265 ms to 275 ms], 400 us in each of 500 iterations" +
          beyond);
  for (const double next_to_nothing : {0.0, 0.02}) {
    report.main_loop->expected_benefit_s = next_to_nothing;
    EXPECT_EQ(headline(report, outline(report)),
              "270 ms of 1.25 s (21.6%) can be saved at 3 places [265 ms to 275 ms]" + beyond);
  }
  report.together->range = {-0.1, 0.6};
  EXPECT_EQ(headline(report, outline(report)),
            "270 ms of 1.25 s (21.6%) may be saved at 3 places, or nothing [-100 ms to 600 ms]" + beyond);
  const double gain = std::exchange(report.together->expected_benefit_s, 0);
  report.together->range = {-0.0006, 0.0006};
  EXPECT_EQ(headline(report, outline(report)),
            "fixing 3 places saves next to nothing: 0 s of 1.25 s [-600 us to 600 us]" + needed);
  report.together->range = {-0.1, 0.1};
  for (const double most_likely : {0.0, -0.05}) {
    report.together->expected_benefit_s = most_likely;
    EXPECT_EQ(headline(report, outline(report)),
              "fixing 3 places may save up to 100 ms of 1.25 s, or nothing [-100 ms to 100 ms]" + needed);
  }
  report.together->expected_benefit_s = gain;
  report.together->range = {0.265, 0.275};
  report.proof = ReportProof{.findings = report.problems.size()};
  ReportProved& proved = report.proof->together.emplace();
  proved.seconds = 0.1, proved.error_s = 0.004;
  EXPECT_EQ(headline(report, outline(report)),
            "270 ms of 1.25 s (21.6%) can be saved at 3 places [265 ms to 275 ms]" + beyond);
  proved.as_expected = false;
  EXPECT_EQ(
      headline(report, outline(report)),
      "270 ms of 1.25 s (21.6%) were expected to be saved at 3 places [265 ms to 275 ms], but 100 ms +- "
      "4.00 ms was proved");
  report.proof->findings = 2;  // of some only
  EXPECT_EQ(headline(report, outline(report)),
            "270 ms of 1.25 s (21.6%) can be saved at 3 places [265 ms to 275 ms]" + beyond);
  Report none = empty_report();
  EXPECT_EQ(headline(none, outline(none)), "nothing to save was found in 1 synchronization and 2 transfers");
  none.incomplete = {"tracing: the run was interrupted"};
  EXPECT_EQ(headline(none, outline(none)), "nothing can be said yet");
  none.incomplete.clear();
  none.runtime_s = 2;
  none.required.push_back({.id = "R1", .up_to_s = 0.5, .up_to_percent = 25});
  EXPECT_EQ(
      headline(none, outline(none)),
      "nothing to save was found in 1 synchronization and 2 transfers; a needed wait (R1) costs up to 500 ms (25.0%)");
  none.required.push_back({.id = "R2", .up_to_s = 0.4});
  none.required_together = {0.6, 30, {}};
  EXPECT_EQ(
      headline(none, outline(none)),
      "nothing to save was found in 1 synchronization and 2 transfers; needed waits cost up to 600 ms (30.0%)");
  none.required_together->range.high_s = 1.2;
  EXPECT_EQ(
      headline(none, outline(none)),
      "nothing to save was found in 1 synchronization and 2 transfers; needed waits cost up to 600 ms (30.0%), 1.20 s "
      "at most");
  none.required_together->range.high_s = 0.6;
  none.required.push_back({.id = "R3", .sends = true, .up_to_s = 0.3, .up_to_percent = 15});
  EXPECT_EQ(
      headline(none, outline(none)),
      "nothing to save was found in 1 synchronization and 2 transfers; needed waits cost up to 600 ms (30.0%); "
      "making and sending data on the CPU costs up to 300 ms (15.0%, R3)");
  none.required.erase(none.required.begin(), none.required.begin() + 2);
  none.required_together.reset();
  EXPECT_EQ(
      headline(none, outline(none)),
      "nothing to save was found in 1 synchronization and 2 transfers; making and sending data on the CPU costs up "
      "to 300 ms (15.0%, R3)");
  EXPECT_EQ(required_heading(none), "Data that the CPU makes and sends");
  EXPECT_EQ(headline(Report{}, {}), "nothing to measure: no synchronization and no transfer");
}

}  // namespace
}  // namespace diogenes
