// What lies inside kernels, in words.
#include "views/shared/kernel_words.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "views/shared/stall_reasons.h"
#include "views/testing/sample_profile.h"

namespace diogenes {
namespace {

TEST(KernelWords, SayWhereAndWhy) {
  const Report report = contexts_report();
  const ReportKernelSamples& axpy = *report.profile->work[0].inside;
  EXPECT_EQ(
      hottest_phrase(axpy, axpy.nodes[1]),
      "62% of its samples in the loop at axpy.cu:12 to 18; there it mostly waits for data from memory (71%)");
  EXPECT_EQ(
      hottest_phrase(axpy, axpy.nodes[6]),
      "30% of its samples at axpy.cu:24 in norm (called in line 20) (estimated); there it mostly issues "
      "instructions (50%)");
  EXPECT_EQ(main_reason(axpy, {}), "");
  EXPECT_EQ(stall_words(axpy).size(), 4u);
  EXPECT_EQ(stall_words(axpy)[3].phrase, "is in state 'new_reason'");
}

TEST(KernelWords, TheDocumentHasEachReason) {
  std::ifstream in(std::filesystem::path(DIOGENES_REPORT_SCHEMA).parent_path() / "reading-a-report.md");
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  for (const StallReason& one : all_stall_reasons())
    EXPECT_NE(text.find("`" + std::string(one.name) + "`"), std::string::npos) << one.name;
}

TEST(KernelWords, EachReasonIsThereOnceWithAllItsWords) {
  std::set<std::string> names, phrases;
  for (const StallReason& one : all_stall_reasons()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_TRUE(phrases.insert(one.phrase).second) << one.phrase;
    for (const std::string text : {one.meaning, one.advice}) EXPECT_TRUE(text.ends_with('.')) << one.name;
    EXPECT_EQ(stall_reason_named(one.name), &one);
  }
  EXPECT_TRUE(names.contains(std::string(kSelected)) && names.contains(std::string(kNotSelected)));
  EXPECT_EQ(stall_reason_named("unheard_of"), nullptr);
}

}  // namespace
}  // namespace diogenes
