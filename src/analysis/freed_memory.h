// For the time of an analysis: memory that is freed stays with the process. glibc gives blocks above 32 MiB
// back at once, and the next one's pages are zeroed by the kernel again: with 10 million operations that was
// a fifth of the time. At the end it is all given back. Threads share one arena: what one has freed another uses
// again, and an arena of its own would grow page by page.
#pragma once
#include <malloc.h>

namespace diogenes {

class FreedMemoryStays {
 public:
  FreedMemoryStays() {
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, kNever);
    mallopt(M_ARENA_MAX, 1);
  }
  ~FreedMemoryStays() {
    mallopt(M_MMAP_MAX, kUsualMappings);
    mallopt(M_TRIM_THRESHOLD, kUsualThreshold);
    mallopt(M_ARENA_MAX, kNoLimit);
    malloc_trim(0);
  }
  FreedMemoryStays(const FreedMemoryStays&) = delete;
  FreedMemoryStays& operator=(const FreedMemoryStays&) = delete;

 private:
  static constexpr int kNever = -1;  // as unsigned: the largest
  static constexpr int kNoLimit = 0;
  static constexpr int kUsualMappings = 65'536, kUsualThreshold = 128 << 10;  // mallopt(3)
};

}  // namespace diogenes
