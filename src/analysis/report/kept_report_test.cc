#include "analysis/report/kept_report.h"

#include <gtest/gtest.h>

#include <fstream>

#include "analysis/analyse.h"
#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;
namespace fs = std::filesystem;

Timeline example() {
  Timeline trace;
  int first = -1;
  for (int i = 0; i < 100; ++i) {
    trace.launch(10).copy("cuMemcpyHtoD_v2", 4096, lasting(20), 30).from(0x100).needed(kOrder);
    if (first < 0)
      first = trace.last();
    else
      trace.repeats(first);
    trace.work(100).sync(lasting(200)).from(0x200).unnecessary().work(300);
    trace.launch(10).sync(lasting(130)).from(0x300).first_use(after(100), kCpuAccess, 0x940).work(200);
  }
  return trace;
}

class KeptReport : public ::testing::Test {
 protected:
  void SetUp() override {
    write_session(folder.path(), example(), {}, 200'000);
    auto made = analyse(folder.path(), options);
    ASSERT_TRUE(made.ok()) << made.error().c_str();
    report = *made;
    ASSERT_FALSE(report.problems.empty());
  }
  std::string read() const {
    std::ifstream file(folder.path() / "report.kept", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void write(const std::string& bytes) const {
    std::ofstream(folder.path() / "report.kept", std::ios::binary | std::ios::trunc) << bytes;
  }

  TemporaryFolder folder;
  const AnalysisOptions options{.judge = verdicts_by_hand};
  Report report;
};

TEST_F(KeptReport, ComesBackAsItWas) {
  EXPECT_FALSE(read_kept_report(folder.path(), options));
  ASSERT_TRUE(keep_report(folder.path(), options, report_bytes(report)).ok());
  const auto kept = read_kept_report(folder.path(), options);
  ASSERT_TRUE(kept);
  EXPECT_EQ(report_bytes(*kept), report_bytes(report));
  EXPECT_EQ(kept->problems[0].stack.size(), report.problems[0].stack.size());
  EXPECT_EQ(kept->groups.back().members, report.groups.back().members);
  EXPECT_EQ(kept->problems[0].range->high_s, report.problems[0].range->high_s);
}

TEST_F(KeptReport, HoldsForTheSameOptionsOnly) {
  ASSERT_TRUE(keep_report(folder.path(), options, report_bytes(report)).ok());
  AnalysisOptions other = options;
  other.model = Model::paper;
  EXPECT_FALSE(read_kept_report(folder.path(), other));
  other = options;
  other.threshold_percent = 1;
  EXPECT_FALSE(read_kept_report(folder.path(), other));
  other = options;
  other.owners.own = {"/home/me"};
  EXPECT_FALSE(read_kept_report(folder.path(), other));
}

TEST_F(KeptReport, HoldsForTheSameRunsOnly) {
  ASSERT_TRUE(keep_report(folder.path(), options, report_bytes(report)).ok());
  std::ofstream(folder.path() / "notes.txt") << "what lies beside the runs does not matter";
  EXPECT_TRUE(read_kept_report(folder.path(), options));
  fs::path record;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path() / stage_name(Stage::tracing)))
    if (entry.path().filename().string().starts_with("thread-")) record = entry.path();
  ASSERT_FALSE(record.empty());
  fs::last_write_time(record, fs::last_write_time(record) + std::chrono::seconds(1));
  EXPECT_FALSE(read_kept_report(folder.path(), options));
  fs::remove(record);
  EXPECT_FALSE(read_kept_report(folder.path(), options));
}

TEST_F(KeptReport, DamagedIsAsIfItWereNotThere) {
  ASSERT_TRUE(keep_report(folder.path(), options, report_bytes(report)).ok());
  const std::string whole = read();
  for (size_t at = 0; at < whole.size(); at += 97) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
    write(bytes);
    EXPECT_FALSE(read_kept_report(folder.path(), options)) << "byte " << at;
    write(whole.substr(0, at));
    EXPECT_FALSE(read_kept_report(folder.path(), options)) << "cut at " << at;
  }
}

// Without the checksum before it: what is read is checked all the same.
TEST_F(KeptReport, AnyBytesAreReadSafely) {
  const std::string whole = report_bytes(report);
  ASSERT_TRUE(report_of(whole));
  for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 1000) {
    EXPECT_FALSE(report_of(std::string_view(whole).substr(0, at))) << "cut at " << at;
    for (unsigned char value : {0x00, 0x7f, 0xff}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(value);
      report_of(bytes);  // a report or none, and no more memory than there are bytes
    }
  }
  EXPECT_FALSE(report_of(whole + "x"));
  EXPECT_FALSE(report_of(""));
}

TEST_F(KeptReport, AFolderThatCannotBeWrittenToStaysAsItIs) {
  fs::create_directory(folder.path() / "report.kept");  // in the place of the file
  std::ofstream(folder.path() / "report.kept" / "x") << "x";
  EXPECT_FALSE(keep_report(folder.path(), options, report_bytes(report)).ok());
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) files += entry.is_regular_file();
  EXPECT_EQ(files, 1u);  // session.json
}

}  // namespace
}  // namespace diogenes
