// Device memory that the program released while the GPU may have been using it, kept for its next allocation of the same
// size. That allocation need not wait: all work that comes after the release is ordered behind the release's marks. What is
// kept is never more than half of what was free, or what the user allows, and is given back before an allocation would fail,
// and before the program asks how much is free. Under the corrector's lock, but free_all().
#pragma once
#include "base/fixed_map.h"
#include "corrector/waits/deferrals.h"

namespace diogenes::corrector {

class Pool {
 public:
  // In a hook: finds the driver's functions. False: nothing can be kept.
  bool start(const CorrectorServices& services);

  // The program's own allocations (cuMemAlloc).
  // `wanted`: the plan names the allocation.
  void note_allocation(uint64_t address, uint64_t bytes, bool wanted, uint64_t context) {
    allocated_.insert(address, {bytes, context, wanted});
    free_ -= free_ < bytes ? free_ : bytes;
  }
  void note_release(uint64_t address) {
    if (allocated_.find(address)) allocated_.erase(address);
  }

  bool is_wanted(uint64_t address) {
    const Allocated* known = allocated_.find(address);
    return known && known->wanted;
  }
  // Why a block cannot be kept; none: it can.
  Undeferred refuses(uint64_t address, uint64_t context);
  void keep(uint64_t address, uint64_t context);  // the current one
  bool keeps(uint64_t address) const;
  // A block of as many bytes; 0: there is none.
  uint64_t take(uint64_t bytes, uint64_t context);

  bool empty() const { return kept_bytes_ == 0; }
  // An allocation of so many bytes may fail because of what is kept.
  bool stands_in_the_way_of(uint64_t bytes);
  void forget_what_is_free() { free_ = 0; }  // memory was taken by other means
  // Gives back all that is kept; everything deferred is done. Takes the lock by itself.
  template <typename Lock, typename MayFree>
  void free_all(MayFree may_free) {
    for (;;) {
      uint64_t address = 0;
      {
        Lock lock;
        if (count_ == 0 || !may_free()) return;
        address = blocks_[--count_].address;
        kept_bytes_ -= blocks_[count_].bytes;
        note_release(address);
      }
      mem_free_(address);
    }
  }

 private:
  static constexpr int kMostBlocks = 4096;
  // That is left free for what the driver needs itself.
  static constexpr uint64_t kSpare = uint64_t{64} << 20;
  struct Allocated {
    uint64_t bytes, context;
    bool wanted;
  };
  struct Block {
    uint64_t address, bytes, context;
  };

  FixedMap<Allocated, 1 << 16> allocated_;  // by address
  Block blocks_[kMostBlocks];
  int count_;
  uint64_t kept_bytes_, limit_;
  uint64_t free_;       // at least, of the device's memory; the driver is asked where that is not enough,
  uint32_t not_asked_;  // and now and then: other processes take memory, too
  CUresult (*mem_free_)(CUdeviceptr);
  CUresult (*mem_get_info_)(size_t*, size_t*);
};

}  // namespace diogenes::corrector
