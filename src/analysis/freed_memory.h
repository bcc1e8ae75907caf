// For the time of an analysis: memory that is freed stays with the process. glibc gives blocks above 32 MiB
// back at once, and the next one's pages are zeroed by the kernel again: with 10 million operations that was
// a fifth of the time. At the end of the last one it is all given back. Threads share one arena: what one has freed another uses
// again, and an arena of its own would grow page by page.
// Large pages (of 2 MiB, where the kernel has them to give) spare it most of its page faults, which were a seventh of the time
// of a profile of 300,000 calls on a virtual machine. So the heap is grown once, without touching it.
#pragma once
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace diogenes {

class FreedMemoryStays {
 public:
  FreedMemoryStays() {
    if (count_.fetch_add(1) > 0) return;
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, kNever);
    mallopt(M_ARENA_MAX, 1);
    ask_for_large_pages();
  }
  ~FreedMemoryStays() {
    if (count_.fetch_sub(1) > 1) return;
    mallopt(M_MMAP_MAX, kUsualMappings);
    mallopt(M_TRIM_THRESHOLD, kUsualThreshold);
    mallopt(M_ARENA_MAX, kNoLimit);
    malloc_trim(0);
  }
  FreedMemoryStays(const FreedMemoryStays&) = delete;
  FreedMemoryStays& operator=(const FreedMemoryStays&) = delete;

 private:
  static void ask_for_large_pages() {
    // A sanitizer's heap is another, and writes what it gives.
    if (kSanitized) return;
    const auto memory =
        static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const size_t bytes = std::min<uint64_t>(kLargest, memory / 8) / kLargePage * kLargePage;
    void* heap = bytes > 2 * kLargePage ? malloc(bytes) : nullptr;
    if (!heap) return;
    const auto begin = (reinterpret_cast<uintptr_t>(heap) + kLargePage - 1) / kLargePage * kLargePage;
    const auto end = (reinterpret_cast<uintptr_t>(heap) + bytes) / kLargePage * kLargePage;
    // Where it is refused, pages are small.
    [[maybe_unused]] const int refused = madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
    free(heap);
  }

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr bool kSanitized = true;
#elif defined(__has_feature)
  static constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
  static constexpr bool kSanitized = false;
#endif
  static constexpr size_t kLargePage = 2 << 20;
  static constexpr uint64_t kLargest = uint64_t{4} << 30;
  static inline std::atomic<int> count_{0};
  static constexpr int kNever = -1;  // as unsigned: the largest
  static constexpr int kNoLimit = 0;
  static constexpr int kUsualMappings = 65'536, kUsualThreshold = 128 << 10;  // mallopt(3)
};

}  // namespace diogenes
