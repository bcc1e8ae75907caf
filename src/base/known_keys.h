// A table from hashes to numbers that only grows. Whoever looks takes no lock; one thread at a time inserts.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clear_pages.h"

namespace diogenes {

template <size_t kEntries>
class KnownKeys {
 public:
  // 0: it is not there.
  uint32_t find(uint64_t key) const {
    for (size_t probe = 0, at = key % kEntries; probe < kProbes; ++probe, at = (at + 1) % kEntries) {
      // acquire pairs with the release in insert(): the key is stored after the value.
      const uint64_t found = entries_[at].key.load(std::memory_order_acquire);
      if (found == key) return entries_[at].value.load(std::memory_order_relaxed);
      if (found == 0) return 0;
    }
    return 0;
  }
  // `value`: not 0.
  void insert(uint64_t key, uint32_t value) {
    for (size_t probe = 0, at = key % kEntries; probe < kProbes; ++probe, at = (at + 1) % kEntries) {
      if (entries_[at].key.load(std::memory_order_relaxed) != 0) continue;
      entries_[at].value.store(value, std::memory_order_relaxed);
      entries_[at].key.store(key, std::memory_order_release);
      ++used_;
      return;
    }
  }
  bool full() const { return used_ >= kEntries / 2; }
  void clear() {
    if (used_ == 0) return;
    clear_pages(static_cast<void*>(entries_), sizeof entries_);
    used_ = 0;
  }

 private:
  static constexpr size_t kProbes = 64;
  struct Entry {
    std::atomic<uint64_t> key;
    std::atomic<uint32_t> value;
  };
  Entry entries_[kEntries];  // zero pages, touched as used
  size_t used_ = 0;
};

}  // namespace diogenes
