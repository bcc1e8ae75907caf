// Large tables that start as zeros and are touched as they are used.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace diogenes {

// All zeros again. Whole pages go back to the kernel: a forked child takes no copy of what it is about to forget.
inline void clear_pages(void* table, size_t bytes) {
  constexpr uintptr_t kPage = 4096;
  const auto begin = reinterpret_cast<uintptr_t>(table), end = begin + bytes;
  const uintptr_t first = (begin + kPage - 1) & ~(kPage - 1), last = end & ~(kPage - 1);
  if (first >= last || madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) != 0) {
    memset(table, 0, bytes);
    return;
  }
  memset(table, 0, first - begin);
  memset(reinterpret_cast<void*>(last), 0, end - last);
}

}  // namespace diogenes
