#include "analysis/runs/decisions.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "analysis/testing/analysed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

// A file with exports that is on every machine stands for the driver.
struct Exports {
  std::string path;
  uint64_t base = 0;
  uint64_t offset(const char* symbol) const {
    return reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, symbol)) - base;
  }
};

Exports libc() {
  Dl_info info{};
  dladdr(dlsym(RTLD_DEFAULT, "qsort"), &info);
  return {info.dli_fname, reinterpret_cast<uint64_t>(info.dli_fbase)};
}

TEST(WaitingFunctions, OutermostDriverFrameIsThePublicFunction) {
  Exports driver = libc();
  TemporaryFolder folder;
  auto trace = timeline().call("wait", lasting(0));
  // Innermost first: internal code, then the export, then the program.
  trace.from_stack({driver_frame(driver.offset("getenv") + 2), driver_frame(driver.offset("qsort") + 4),
                    program_frame(0x40)});
  trace.call("wait", lasting(0)).from_stack({driver_frame(driver.offset("qsort") + 9), program_frame(0x80)});
  trace.call("wait", lasting(0)).from_stack({driver_frame(driver.offset("strtol") + 1), program_frame(0x80)});
  trace.call("wait", lasting(0)).from_stack({program_frame(0x80)});  // none of the driver's
  write_process(folder.path(), trace, {.stage = Stage::baseline, .driver = driver.path});
  auto names = waiting_functions(folder.path());
  ASSERT_TRUE(names.ok()) << names.error().c_str();
  EXPECT_EQ(*names, (std::vector<std::string>{"qsort", "strtol"}));
}

TEST(WaitingFunctions, NothingRecordedIsNoError) {
  TemporaryFolder folder;
  auto names = waiting_functions(folder.path());
  ASSERT_TRUE(names.ok());
  EXPECT_TRUE(names->empty());
  EXPECT_FALSE(waiting_functions(folder.path() / "missing").ok());
}

}  // namespace
}  // namespace diogenes
