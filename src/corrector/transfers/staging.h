// Pinned memory of ours, through which pageable copies go without waiting. Under the corrector's lock.
#pragma once
#include "corrector/waits/deferrals.h"

namespace diogenes::corrector {

class Staging {
 public:
  bool start(const CorrectorServices& services);
  struct Block {
    void* memory;       // null: there is none
    Deferral deferral;  // in use until then; kTaken: by a call under way
  };
  // So many bytes that nobody uses. Null: all are in use, or the copy is too large.
  Block* take(uint64_t bytes, const Deferrals& deferrals);
  static void keep_until(Block& block, Deferral deferral) { block.deferral = deferral; }
  static void give_back(Block& block) { block.deferral = 0; }
  static bool is_too_large(uint64_t bytes) { return bytes > kSmallest << (kClasses - 1); }

 private:
  // Blocks of 4 KiB, 8 KiB, ..., 256 MiB.
  static constexpr uint64_t kSmallest = 4096, kAtOnce = uint64_t{1} << 20;
  static constexpr int kClasses = 17;
  static constexpr uint32_t kMostBlocks = 256;  // of a class
  static constexpr Deferral kTaken = ~Deferral{0};
  struct Class {
    Block blocks[kMostBlocks];
    uint32_t count, next;
  };
  void make(int number);

  Class classes_[kClasses];
  uint64_t bytes_, limit_;
  CUresult (*host_alloc_)(void**, size_t, unsigned);
};

}  // namespace diogenes::corrector
