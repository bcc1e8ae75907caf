// What kernels are called, and in which shapes they are launched: a file of its own in a process's folder, written by
// whoever tells GPU times (gpu_times_source.h), and read by trace/reader.h. A GPU time names a launch by its number:
// its place in the file, from 1. A name is written once, with the first launch of it; others name that one.
//
// The file is opened for each new launch and closed again: programs close descriptors that they do not know. What was
// written survives a kill.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace diogenes {

inline constexpr const char* kKernelsFile = "kernels";
inline constexpr size_t kLongestKernelName = 16 << 10;  // longer ones are cut

struct LaunchShape {
  uint32_t grid[3], block[3];              // all 0: not known
  uint32_t registers;                      // of a thread; 0: not known
  uint32_t static_shared, dynamic_shared;  // bytes, of a block
};

// [gpu_times, sim -> trace/reader]
struct LaunchRecord {
  uint32_t named;       // number of the launch that has the name; its own: the name follows
  uint32_t name_bytes;  // that follow; no zero at the end
  LaunchShape shape;
};
static_assert(sizeof(LaunchRecord) == 44);

// One caller at a time.
class LaunchFile {
 public:
  static constexpr uint32_t kMostShapes = 1u << 18;  // of more, the name alone is kept
  static constexpr uint32_t kMostLaunches = 3u << 17;

  // False: there is no memory for it.
  bool open(const char* folder) {
    snprintf(path_, sizeof path_, "%s/%s", folder, kKernelsFile);
    if (slots_) return true;
    void* memory = mmap(nullptr, kSlots * sizeof(Slot), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    slots_ = static_cast<Slot*>(memory);
    return true;
  }

  // 0: it could not be kept.
  uint32_t number_of(const char* name, const LaunchShape& shape) {
    if (!slots_ || !name) return 0;
    const size_t bytes = strnlen(name, kLongestKernelName);
    const uint64_t key = XXH3_64bits(name, bytes);
    Slot& known = slot_of(key);
    const LaunchShape kept = written_ < kMostShapes ? shape : LaunchShape{};
    Slot& own = slot_of(XXH3_64bits_withSeed(&kept, sizeof kept, key));
    if (own.number != 0) return own.number;
    const uint32_t number = written_ + 1;
    const LaunchRecord record{known.number ? known.number : number,
                              known.number ? 0 : static_cast<uint32_t>(bytes), kept};
    if (written_ >= kMostLaunches || !write(record, name)) return 0;
    if (known.number == 0) known = {known.key, number};
    own.number = number;
    return written_ = number;
  }

 private:
  struct Slot {
    uint64_t key = 0;  // 0: free
    uint32_t number = 0;
  };
  static constexpr size_t kSlots = 1u << 20;
  static_assert(2 * kMostLaunches < kSlots);

  Slot& slot_of(uint64_t key) {
    size_t at = key % kSlots;
    while (slots_[at].key != 0 && slots_[at].key != (key | 1)) at = (at + 1) % kSlots;
    slots_[at].key = key | 1;
    return slots_[at];
  }

  bool write(const LaunchRecord& record, const char* name) {
    const int file = ::open(path_, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) return false;
    const iovec parts[] = {{const_cast<LaunchRecord*>(&record), sizeof record},
                           {const_cast<char*>(name), record.name_bytes}};
    const auto wanted = static_cast<ssize_t>(sizeof record + record.name_bytes);
    failed_ = failed_ || writev(file, parts, 2) != wanted;  // what follows a part would be misread
    close(file);
    return !failed_;
  }

  char path_[512] = {};
  Slot* slots_ = nullptr;
  uint32_t written_ = 0;
  bool failed_ = false;
};

}  // namespace diogenes
