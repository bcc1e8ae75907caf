#include "trace/kernel_table.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace diogenes {
namespace {

namespace fs = std::filesystem;

constexpr LaunchShape kSmall{{4, 1, 1}, {128, 1, 1}, 32, 0, 256};
constexpr LaunchShape kLarge{{4000, 2, 1}, {256, 1, 1}, 32, 0, 256};

class KernelTableTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "kernels-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    ASSERT_TRUE(file_.open(folder_.c_str()));
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path path() const { return folder_ / kKernelsFile; }
  KernelTable read() const {
    auto file = MappedFile::open(path());
    return KernelTable(std::move(*file));
  }

  fs::path folder_;
  LaunchFile file_;
};

TEST_F(KernelTableTest, NamesAndShapesComeBackUnderTheirNumbers) {
  EXPECT_EQ(file_.number_of("axpy", kSmall), 1u);
  EXPECT_EQ(file_.number_of("axpy", kLarge), 2u);
  EXPECT_EQ(file_.number_of("dot", kSmall), 3u);
  EXPECT_EQ(file_.number_of("axpy", kSmall), 1u) << "known";
  const KernelTable table = read();
  EXPECT_EQ(table[1].name, "axpy");
  EXPECT_EQ(table[2].name, "axpy");
  EXPECT_EQ(table[2].shape.grid[0], 4000u);
  EXPECT_EQ(table[3].name, "dot");
  EXPECT_EQ(table[3].shape.registers, 32u);
  EXPECT_EQ(table[0].name, "");
  EXPECT_EQ(table[4].name, "");
  EXPECT_EQ(table.rest(), 0u);
}

TEST_F(KernelTableTest, ANameIsWrittenOnce) {
  const std::string name(1000, 'k');
  for (uint32_t i = 1; i <= 100; ++i) {
    LaunchShape shape = kSmall;
    shape.grid[0] = i;
    EXPECT_EQ(file_.number_of(name.c_str(), shape), i);
  }
  EXPECT_EQ(fs::file_size(path()), 1000 + 100 * sizeof(LaunchRecord));
  EXPECT_EQ(read()[100].name, name);
}

TEST_F(KernelTableTest, ANameOf64KiBIsCut) {
  const std::string name(64 << 10, 'k');
  EXPECT_EQ(file_.number_of(name.c_str(), kSmall), 1u);
  EXPECT_EQ(read()[1].name.size(), kLongestKernelName);
}

TEST_F(KernelTableTest, OfTooManyShapesTheNameStays) {
  LaunchShape shape = kSmall;
  uint32_t last = 0;
  for (uint32_t i = 1; i <= LaunchFile::kMostShapes + 10; ++i) {
    shape.grid[1] = i;
    last = file_.number_of("varied", shape);
  }
  EXPECT_EQ(last, LaunchFile::kMostShapes + 1);
  const uint32_t other = file_.number_of("other", kSmall);
  const KernelTable table = read();
  EXPECT_EQ(table[last].name, "varied");
  EXPECT_EQ(table[last].shape.block[0], 0u) << "not known";
  EXPECT_EQ(table[other].name, "other");
}

TEST_F(KernelTableTest, WithoutAFolderNothingHasANumber) {
  LaunchFile nowhere;
  EXPECT_EQ(nowhere.number_of("axpy", kSmall), 0u);
  ASSERT_TRUE(nowhere.open((folder_ / "none").c_str()));
  EXPECT_EQ(nowhere.number_of("axpy", kSmall), 0u);
  EXPECT_EQ(file_.number_of(nullptr, kSmall), 0u);
}

TEST_F(KernelTableTest, DamagedFilesAreTakenAsFarAsTheyGo) {
  for (const char* name : {"axpy", "dot", "gemm"}) ASSERT_NE(file_.number_of(name, kSmall), 0u);
  std::ifstream from(path(), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(from), {}};
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = whole.substr(0, random() % (whole.size() + 1));
    for (uint32_t k = random() % 4; k > 0 && !damaged.empty(); --k)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << damaged;
    const KernelTable table = read();
    for (uint32_t number = 0; number < 8; ++number) EXPECT_LE(table[number].name.size(), damaged.size());
  }
}

}  // namespace
}  // namespace diogenes
