#include "launcher/commands/allow_list.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace diogenes::launcher {
namespace {

struct AllowFile {
  explicit AllowFile(const std::string& text)
      : path(testing::TempDir() + "allow-" + std::to_string(getpid()) + ".txt") {
    std::ofstream(path) << text;
  }
  ~AllowFile() { std::filesystem::remove(path); }
  std::string path;
};

TEST(AllowList, HasAKeyAndAReasonALine) {
  AllowFile file("# our own\n00ab  the vendor's library does it\n\n  00cd-2\tnot hot  # really\r\n");
  auto allowed = read_allow_list(file.path);
  ASSERT_TRUE(allowed.ok()) << allowed.error().c_str();
  ASSERT_EQ(allowed->size(), 2u);
  EXPECT_EQ(allowed->at("00ab"), "the vendor's library does it");
  EXPECT_EQ(allowed->at("00cd-2"), "not hot");
}

TEST(AllowList, AKeyWithoutAReasonIsAnErrorWithItsLine) {
  AllowFile file("00ab why\n00cd\n");
  auto allowed = read_allow_list(file.path);
  ASSERT_FALSE(allowed.ok());
  EXPECT_NE(std::string(allowed.error().c_str()).find(".txt:2: 00cd has no reason"), std::string::npos);
  EXPECT_FALSE(read_allow_list("/no/such/file").ok());
}

}  // namespace
}  // namespace diogenes::launcher
