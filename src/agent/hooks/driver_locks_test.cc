#include "agent/hooks/driver_locks.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>

extern "C" __attribute__((visibility("default"), noinline)) int subject() { return 1; }

namespace diogenes::agent {
namespace {

int behind_it() { return 2; }
bool is_interposed = false;

// Lines of /proc/self/maps that are of the library.
std::string mapping(const char* library) {
  std::ifstream maps("/proc/self/maps");
  std::string all;
  for (std::string line; std::getline(maps, line);)
    if (line.ends_with(library)) all += line + "\n";
  return all;
}

class DriverLocks : public testing::TestWithParam<const char*> {};

TEST_P(DriverLocks, GoToLibcOnceTheyAreBound) {
  void* library = dlopen(GetParam(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto call = reinterpret_cast<int (*)()>(dlsym(library, "call_subject"));
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call(), 1);
  LoadedImage image;
  struct Search {
    const char* path;
    LoadedImage& image;
  } search{GetParam(), image};
  for_each_image(
      [](const LoadedImage& one, void* opaque) {
        auto* wanted = static_cast<Search*>(opaque);
        if (strcmp(one.path, wanted->path) == 0) wanted->image = one;
      },
      &search);
  ASSERT_NE(image.headers, nullptr);

  is_interposed = false;
  bind_locks_of(image);
  EXPECT_EQ(call(), 1);

  const std::string before = mapping(GetParam());
  is_interposed = true;
  bind_locks_of(image);
  EXPECT_EQ(call(), 2);
  EXPECT_EQ(mapping(GetParam()), before);
}

INSTANTIATE_TEST_SUITE_P(OfLibraries, DriverLocks,
                         testing::Values(CALLS_SUBJECT_lazy, CALLS_SUBJECT_now, CALLS_SUBJECT_no_plt));

}  // namespace

uintptr_t libcs_lock_function(uintptr_t ours) {
  return is_interposed && ours == reinterpret_cast<uintptr_t>(&subject)
             ? reinterpret_cast<uintptr_t>(&behind_it)
             : 0;
}

}  // namespace diogenes::agent
