#include "launcher/prove/corrections_reader.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <fstream>

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

class Counts : public testing::Test {
 protected:
  Counts() {
    char name[] = "/tmp/counts-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~Counts() override { fs::remove_all(folder_); }

  // A process that was at one place four times.
  void process(const char* name, int64_t begun_ns, int64_t ended_ns) const {
    CorrectionsHeader header{};
    memcpy(header.magic, kCorrectionsMagic, sizeof header.magic);
    header.sites = 1, header.correcting_ns = 500'000'000, header.looked_ns = 250'000'000;
    header.passing_ns = 125'000'000;
    header.begun_ns = begun_ns, header.ended_ns = ended_ns;
    CorrectionCounts counts{};
    counts.key = 7, counts.calls = 4, counts.deferred = 3;
    fs::create_directory(folder_ / name);
    std::ofstream(folder_ / name / "corrections", std::ios::binary)
        .write(reinterpret_cast<const char*>(&header), sizeof header)
        .write(reinterpret_cast<const char*>(&counts), sizeof counts);
  }

  fs::path folder_;
};

constexpr int64_t kSecond = 1'000'000'000;

TEST_F(Counts, OfSeveralProcessesLastFromTheFirstToTheLast) {
  process("1", 3 * kSecond, 5 * kSecond);
  process("2", 4 * kSecond, 9 * kSecond);
  process("3", 0, 0);  // it made none of these calls
  const CountsOfRun run = read_counts(folder_);
  EXPECT_DOUBLE_EQ(run.from_first_call_s(), 6);
  EXPECT_EQ(run.all_sites().calls, 12u);
  EXPECT_EQ(run.all_sites().deferred, 9u);
  EXPECT_DOUBLE_EQ(run.correcting_s, 1.5);
  EXPECT_DOUBLE_EQ(run.looked_s, 0.75);
  EXPECT_DOUBLE_EQ(run.unhooked_s(), 6 - 0.375);
}

TEST_F(Counts, WhereAProcessWasKilledTheTimeIsNotKnown) {
  process("1", 3 * kSecond, 5 * kSecond);
  process("2", 4 * kSecond, 0);
  EXPECT_EQ(read_counts(folder_).from_first_call_s(), 0);
}

TEST_F(Counts, OfWhatCannotBeReadAreNone) {
  EXPECT_EQ(read_counts(folder_ / "nothing").from_first_call_s(), 0);
  process("1", 3 * kSecond, 5 * kSecond);
  fs::resize_file(folder_ / "1" / "corrections", sizeof(CorrectionsHeader) - 1);
  EXPECT_EQ(read_counts(folder_).from_first_call_s(), 0);
  EXPECT_EQ(read_counts(folder_).all_sites().calls, 0u);
}

}  // namespace
}  // namespace diogenes::launcher
