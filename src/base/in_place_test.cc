// What is done in the program's process, where it may not be cancelled, killed or slowed down.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/clear_pages.h"
#include "base/mapped_file.h"
#include "base/memory_probe.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "mapped-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  std::string file() const { return path_ / "file"; }

 private:
  fs::path path_;
};

TEST(MappedFile, GrowsByParts) {
  const Folder folder;
  auto* first = static_cast<char*>(map_part_of_file(folder.file().c_str(), O_CREAT, 0, 4096));
  ASSERT_NE(first, nullptr);
  first[0] = 'a';
  auto* second = static_cast<char*>(map_part_of_file(folder.file().c_str(), 0, 4096, 8192));
  ASSERT_NE(second, nullptr);
  second[8191] = 'z';
  EXPECT_EQ(fs::file_size(folder.file()), 12288u);
  std::ifstream in(folder.file());
  const std::string content((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(content.front(), 'a');
  EXPECT_EQ(content.back(), 'z');
  munmap(first, 4096);
  munmap(second, 8192);
  EXPECT_EQ(map_part_of_file(folder.file().c_str(), O_CREAT | O_EXCL, 0, 4096), nullptr);
  EXPECT_EQ(map_part_of_file((folder.file() + "/none").c_str(), O_CREAT, 0, 4096), nullptr);
}

TEST(MappedFile, IsNoPlaceToBeCancelledIn) {
  static Folder folder;
  static bool made = false;
  pthread_t thread;
  const auto make = [](void*) -> void* {
    pthread_cancel(pthread_self());
    made = map_part_of_file(folder.file().c_str(), O_CREAT, 0, 4096) != nullptr;
    pthread_testcancel();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, make, nullptr), 0);
  void* result = nullptr;
  pthread_join(thread, &result);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_TRUE(made);
}

TEST(ClearPages, LeavesWhatLiesBesideThem) {
  std::vector<uint8_t> memory(5 * 4096, 7);
  for (const size_t bytes : {size_t{100}, size_t{5000}, size_t{3 * 4096 + 17}}) {
    std::fill(memory.begin(), memory.end(), 7);
    clear_pages(&memory[50], bytes);
    for (size_t i = 0; i < memory.size(); ++i)
      ASSERT_EQ(memory[i], i >= 50 && i < 50 + bytes ? 0 : 7) << i << " of " << bytes;
  }
}

TEST(MemoryProbe, TellsWhatIsThere) {
  auto* two = static_cast<char*>(mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(two, MAP_FAILED);
  mprotect(two + 4096, 4096, PROT_NONE);
  errno = 5;
  EXPECT_TRUE(is_there(reinterpret_cast<uintptr_t>(two) + 4095));
  EXPECT_FALSE(is_there(reinterpret_cast<uintptr_t>(two) + 4096));
  EXPECT_FALSE(is_there(0));
  EXPECT_FALSE(is_there(8));
  EXPECT_FALSE(is_there(~uintptr_t{0}));
  EXPECT_EQ(errno, 5);
  munmap(two, 8192);
}

}  // namespace
}  // namespace diogenes
