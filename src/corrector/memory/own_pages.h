// Pinned memory of ours. The driver gives small pieces in pages that hold the program's, too, which may be guarded: then not even
// the kernel can read ours. So these pages hold nothing else. Never given back.
#pragma once
#include <cstddef>
#include <cstdint>

#include "driver/cuda_types.h"

namespace diogenes::corrector {

// `bytes`: whole pages. Null: the driver refused.
inline void* pinned_pages(CUresult (*host_alloc)(void**, size_t, unsigned), uint64_t bytes, unsigned flags) {
  constexpr uintptr_t kPage = 4096;
  void* memory = nullptr;
  if (host_alloc(&memory, bytes + kPage, flags) != CUDA_SUCCESS) return nullptr;
  return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory) + kPage - 1) & ~(kPage - 1));
}

}  // namespace diogenes::corrector
