#include "corrector/transfers/staging.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "corrector/memory/own_pages.h"

namespace diogenes::corrector {

// As its files say it, where the process sees its own group as the root.
static uint64_t memory_of_container() {
  for (const char* name : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    char text[32] = {};
    const ssize_t bytes = read(file, text, sizeof text - 1);
    close(file);
    if (bytes > 0 && text[0] >= '0' && text[0] <= '9') return strtoull(text, nullptr, 10);
  }
  return ~uint64_t{0};
}

bool Staging::start(const CorrectorServices& services) {
  host_alloc_ =
      reinterpret_cast<CUresult (*)(void**, size_t, unsigned)>(services.driver_symbol("cuMemHostAlloc"));
  // Pinned memory is lost to all others: a sixteenth of the machine's, or of the container's, and 2 GiB at most.
  uint64_t whole =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (const uint64_t container = memory_of_container(); container < whole) whole = container;
  constexpr uint64_t kMost = uint64_t{2} << 30;
  limit_ = whole / 16 < kMost ? whole / 16 : kMost;
  return host_alloc_ != nullptr;
}

void Staging::make(int number) {
  Class& of = classes_[number];
  const uint64_t size = kSmallest << number;
  uint64_t count = size < kAtOnce ? kAtOnce / size : 1;
  if (count > kMostBlocks - of.count) count = kMostBlocks - of.count;
  if (count == 0 || bytes_ + count * size > limit_) return;
  void* memory = pinned_pages(host_alloc_, count * size, CU_MEMHOSTALLOC_PORTABLE);
  if (!memory) return;
  bytes_ += count * size;
  of.next = of.count;
  for (uint64_t i = 0; i < count; ++i) of.blocks[of.count++] = {static_cast<char*>(memory) + i * size, 0};
}

Staging::Block* Staging::take(uint64_t bytes, const Deferrals& deferrals) {
  if (is_too_large(bytes)) return nullptr;
  int number = 0;
  while (kSmallest << number < bytes) ++number;
  Class& of = classes_[number];
  // Those that were taken first are done first.
  constexpr uint32_t kLooks = 8;
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (uint32_t i = 0; i < of.count && i < kLooks; ++i) {
      Block& block = of.blocks[(of.next + i) % of.count];
      if (block.deferral == kTaken || (block.deferral != 0 && !deferrals.done(block.deferral))) continue;
      block.deferral = kTaken;
      of.next = (of.next + i + 1) % of.count;
      return &block;
    }
    if (attempt == 0) make(number);
  }
  return nullptr;
}

}  // namespace diogenes::corrector
