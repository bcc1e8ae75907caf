#include "analysis/symbols/source_lines.h"

#include <gtest/gtest.h>

#include <ctime>
#include <fstream>

#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

constexpr int64_t kLater = INT64_MAX;

TEST(SourceLines, AreThoseAroundThePlace) {
  testing::TemporaryFolder folder;
  const std::string file = folder.path() / "a.cc";
  std::ofstream(file) << "one\ntwo\r\nthree\nfour\nfive";
  SourceLines lines(kLater);
  ReportSource middle = lines.at(file, 3, 1);
  EXPECT_EQ(middle.first, 2);
  EXPECT_EQ(middle.lines, (std::vector<std::string>{"two", "three", "four"}));
  EXPECT_EQ(lines.at(file, 1).lines, (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_EQ(lines.at(file, 5).first, 3);
  for (int beyond : {0, -1, 6, 1'000'000}) EXPECT_TRUE(lines.at(file, beyond).lines.empty()) << beyond;
}

TEST(SourceLines, AreNotThereWhereTheFileIsNotWhatRan) {
  testing::TemporaryFolder folder;
  const std::string file = folder.path() / "a.cc";
  std::ofstream(file) << "one\n";
  EXPECT_TRUE(SourceLines(1).at(file, 1).lines.empty());  // measured in 1970
  EXPECT_TRUE(SourceLines(kLater).at(folder.path() / "gone.cc", 1).lines.empty());
  EXPECT_TRUE(SourceLines(kLater).at(folder.path(), 1).lines.empty());
  EXPECT_TRUE(SourceLines(kLater).at("", 1).lines.empty());
}

}  // namespace
}  // namespace diogenes
