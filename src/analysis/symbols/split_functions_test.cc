// Files are built here: what compilers move away is theirs to decide, so each function is asked to have a rare path that comes
// back.
#include "analysis/symbols/split_functions.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace diogenes {
namespace {

namespace fs = std::filesystem;

// Prints where the rare path of each function lies: a return address, less 1, as a virtual address of the file.
constexpr const char* kProgram = R"(#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
static uintptr_t base;
static int first(struct dl_phdr_info* info, size_t size, void* data) { base = info->dlpi_addr; return 1; }
volatile int sink;
__attribute__((noinline, cold)) void rare(const char* name) {
  printf("%s %lx\n", name, (unsigned long)((uintptr_t)__builtin_return_address(0) - 1 - base));
}
#define FUNCTION(name) \
  __attribute__((noinline)) int name(int value) { \
    for (int i = 0; i < 10; ++i) { \
      sink = sink + value; \
      if (value > 3) { rare(#name); sink = value; } \
      sink = sink * 3; \
    } \
    return sink; \
  }
FUNCTION(exported)
FUNCTION(another)
static FUNCTION(hidden)
int main() {
  dl_iterate_phdr(first, NULL);
  exported(4), another(5), hidden(6);
  return 0;
}
)";

class Split : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "split-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ofstream(folder_ / "program.c") << kProgram;
    const std::string build = std::string("cc -O2 -freorder-blocks-and-partition -rdynamic ") + GetParam() +
                              " program.c -o program && strip program && ./program > places";
    ASSERT_EQ(system(("cd '" + folder_.string() + "' && " + build).c_str()), 0);
    std::ifstream places(folder_ / "places");
    std::string name;
    uint64_t address = 0;
    while (places >> name >> std::hex >> address) addresses_[name] = address;
    ASSERT_EQ(addresses_.size(), 3u);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  std::map<std::string, uint64_t> addresses_;
};

TEST_P(Split, BelongsToTheFunctionThatItJumpsBackInto) {
  SplitFunctions split(folder_ / "program");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(split.function_of(addresses_["exported"]), "exported");
    EXPECT_EQ(split.function_of(addresses_["another"]), "another");
  }
  EXPECT_EQ(split.function_of(addresses_["hidden"]), "");  // its function has no name either
  EXPECT_EQ(split.function_of(0), "");
  EXPECT_EQ(split.function_of(UINT64_MAX), "");
}

INSTANTIATE_TEST_SUITE_P(Programs, Split, testing::Values("-pie -fPIE", "-no-pie"));

TEST(SplitFunctions, AFileThatCannotBeReadHasNone) {
  EXPECT_EQ(SplitFunctions("/nowhere").function_of(0x1000), "");
  EXPECT_EQ(SplitFunctions("/proc/self/maps").function_of(0x1000), "");
}

}  // namespace
}  // namespace diogenes
