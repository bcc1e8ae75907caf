#include "launcher/installed/known_hooks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "driver/hooking/image.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

class KnownHooks : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "known-hooks-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    cache_ = fs::path(name) / "cache";
    const Result<BuildId> id = build_id_of(driver_.library);
    ASSERT_TRUE(id);
    ASSERT_GT(id->length, 0);
    char text[41];
    to_hex(*id, text);
    hooks_ = {.driver = driver_, .build_id = *id, .build_id_text = text, .version = "CUDA 13.0"};
    hooks_.wait_functions = {{.offset = 0x1234, .agreed = 5, .known = 6}, {.offset = 0x99, .queue = true}};
    hooks_.problems = {"one function cannot be hooked"};
    hooks_.evidence_json = "{\"calls\": []}";
    hooks_.waits.resize(2);
    hooks_.all.resize(700);
    for (size_t i = 0; i < hooks_.all.size(); ++i) hooks_.all[i].entry = 16 * i;
  }
  void TearDown() override { fs::remove_all(cache_.parent_path()); }
  fs::path only_file() const {
    EXPECT_EQ(std::distance(fs::directory_iterator(cache_), {}), 1);
    return fs::directory_iterator(cache_)->path();
  }

  fs::path cache_;
  ChosenDriver driver_{.library = "/proc/self/exe", .library_folder = "/somewhere", .simulated = true};
  DriverHooks hooks_;
};

TEST_F(KnownHooks, AreAsTheyWereKept) {
  EXPECT_FALSE(read_known_hooks(cache_, driver_));
  keep_hooks(cache_, hooks_);
  const std::optional<DriverHooks> found = read_known_hooks(cache_, driver_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->driver.library_folder, "/somewhere");
  EXPECT_TRUE(found->driver.simulated);
  EXPECT_EQ(found->build_id, hooks_.build_id);
  EXPECT_EQ(found->build_id_text, hooks_.build_id_text);
  EXPECT_EQ(found->version, "CUDA 13.0");
  ASSERT_EQ(found->wait_functions.size(), 2u);
  EXPECT_EQ(found->wait_functions[0].offset, 0x1234u);
  EXPECT_EQ(found->wait_functions[0].agreed, 5);
  EXPECT_EQ(found->wait_functions[0].known, 6);
  EXPECT_TRUE(found->wait_functions[1].queue);
  EXPECT_EQ(found->problems, hooks_.problems);
  EXPECT_EQ(found->evidence_json, hooks_.evidence_json);
  EXPECT_EQ(found->waits.size(), 2u);
  ASSERT_EQ(found->all.size(), 700u);
  EXPECT_EQ(found->all[699].entry, 16u * 699);
  EXPECT_TRUE(found->from_cache);
}

TEST_F(KnownHooks, WithoutAWaitFunctionAreNotKept) {
  hooks_.wait_functions.clear();
  keep_hooks(cache_, hooks_);
  EXPECT_FALSE(fs::exists(cache_));
}

TEST_F(KnownHooks, ReplaceThoseOfAnotherBuildOfThisProgram) {
  fs::create_directories(cache_);
  std::ofstream(cache_ / (hooks_.build_id_text + ".0123.hooks")) << "old";
  keep_hooks(cache_, hooks_);
  EXPECT_NE(only_file().filename(), hooks_.build_id_text + ".0123.hooks");
}

TEST_F(KnownHooks, InADamagedFileAreNone) {
  keep_hooks(cache_, hooks_);
  const fs::path path = only_file();
  std::ifstream in(path, std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  auto write = [&](const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; };
  for (size_t at = 0; at < good.size(); at += at < 300 ? 1 : 997) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    write(bad);
    EXPECT_FALSE(read_known_hooks(cache_, driver_)) << at;
    write(good.substr(0, at));
    EXPECT_FALSE(read_known_hooks(cache_, driver_)) << at;
  }
  write(good + "x");
  EXPECT_FALSE(read_known_hooks(cache_, driver_));
  write(good);
  EXPECT_TRUE(read_known_hooks(cache_, driver_));
}

TEST_F(KnownHooks, WhereNothingCanBeWrittenAreNotKept) {
  keep_hooks("/proc/nowhere", hooks_);
  keep_hooks("", hooks_);
  EXPECT_FALSE(read_known_hooks("", driver_));
}

}  // namespace
}  // namespace diogenes::launcher
