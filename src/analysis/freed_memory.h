// For the time of an analysis: memory that is freed stays with the process. glibc gives blocks above 32 MiB
// back at once, and the next one's pages are zeroed by the kernel again: with 10 million operations that was
// a fifth of the time. At the end it is all given back. Threads share one arena: what one has freed another uses
// again, and an arena of its own would grow page by page.
//
// In: how many bytes the analysis will likely use. If they are many, the kernel is asked to give pages of 2 MiB, as far
// as they are used at all: pages of 4 KiB are a fault each, and take a tenth of the processor time. Where the kernel has
// no large ones, or so much cannot be reserved, pages stay as they are. For less it is not worth it: small pages were
// mostly used lately, while a virtual machine may have given its large ones back to its host, which then has to find
// and zero them.
#pragma once
#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace diogenes {

class FreedMemoryStays {
 public:
  explicit FreedMemoryStays(size_t expected) {
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, kNever);
    mallopt(M_ARENA_MAX, 1);
    if (expected >= kMany) ask_for_huge_pages(expected);
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
  static constexpr size_t kMany = size_t{1} << 30;
  static constexpr uintptr_t kHugePage = 2 << 20;

  // The advice stays with the addresses when the block is freed, and what is allocated next lies there.
  static void ask_for_huge_pages(size_t bytes) {
    void* block = malloc(bytes);
    if (!block) return;
    const uintptr_t begin = (reinterpret_cast<uintptr_t>(block) + kHugePage - 1) & ~(kHugePage - 1);
    const uintptr_t end = (reinterpret_cast<uintptr_t>(block) + bytes) & ~(kHugePage - 1);
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
    free(block);
  }
};

}  // namespace diogenes
