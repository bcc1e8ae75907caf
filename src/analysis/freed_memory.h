// For the time of an analysis: memory that is freed stays with the process. glibc gives blocks above 32 MiB
// back at once, and the next one's pages are zeroed by the kernel again: with 10 million operations that was
// a fifth of the time. At the end it is all given back.
#pragma once
#include <malloc.h>

namespace diogenes {

class FreedMemoryStays {
 public:
  FreedMemoryStays() {
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, kNever);
  }
  ~FreedMemoryStays() {
    mallopt(M_MMAP_MAX, kUsualMappings);
    mallopt(M_TRIM_THRESHOLD, kUsualThreshold);
    malloc_trim(0);
  }
  FreedMemoryStays(const FreedMemoryStays&) = delete;
  FreedMemoryStays& operator=(const FreedMemoryStays&) = delete;

 private:
  static constexpr int kNever = -1;                                           // as unsigned: the largest
  static constexpr int kUsualMappings = 65'536, kUsualThreshold = 128 << 10;  // mallopt(3)
};

}  // namespace diogenes
