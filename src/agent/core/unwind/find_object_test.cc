// The walk over the loaded files beside glibc's own answer.
#include "agent/core/unwind/find_object.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <memory>

namespace diogenes::agent {
namespace {

TEST(FindObject, AWalkFindsWhatGlibcFinds) {
  const auto glibcs = reinterpret_cast<int (*)(void*, dl_find_object*)>(dlsym(RTLD_NEXT, "_dl_find_object"));
  if (!glibcs) GTEST_SKIP() << "this glibc has none";
  void* const addresses[] = {
      reinterpret_cast<void*>(&find_object_by_walk),  // the program's
      dlsym(RTLD_NEXT, "qsort"),                      // libc's
      dlsym(RTLD_NEXT, "cbrt"),                       // libm's
      dlsym(RTLD_NEXT, "__cxa_throw"),                // libstdc++'s
  };
  for (void* address : addresses) {
    ASSERT_NE(address, nullptr);
    dl_find_object expected{}, found{};
    ASSERT_EQ(glibcs(address, &expected), 0);
    ASSERT_EQ(find_object_by_walk(address, &found), 0);
    EXPECT_EQ(found.dlfo_eh_frame, expected.dlfo_eh_frame);
    EXPECT_LE(found.dlfo_map_start, address);
    EXPECT_GT(found.dlfo_map_end, address);
  }
}

TEST(FindObject, MemoryThatNoFileHasIsNotFound) {
  const auto block = std::make_unique<char[]>(100);
  dl_find_object found{};
  EXPECT_EQ(find_object_by_walk(block.get(), &found), -1);
  EXPECT_EQ(find_object_by_walk(nullptr, &found), -1);
}

}  // namespace
}  // namespace diogenes::agent
