// Which operation a call of the driver belongs to, by CUPTI's correlation id: written by the program's
// threads as they call, read by CUPTI's thread when the call's work has ended. One slot each, by the id's
// lower bits; the upper bits are in the slot, so that an id that lost its slot to a later one finds nothing,
// and not the wrong operation. Wait-free on both sides: one store, one load.
//
// Source of the idea: HPCToolkit's channels (ICS'20, section 3.2); ids are given in order by the process, so
// that a table takes the place of a channel from each thread.
#pragma once
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace diogenes {

class Correlations {
 public:
  static constexpr uint32_t kSlotBits = 20;  // a million calls may come between a launch and its record
  static constexpr uint32_t kOperationBits = 52;
  static_assert(32 - kSlotBits <= 64 - kOperationBits);

  // False: there is no memory for it.
  bool open() {
    if (slots_) return true;
    void* memory = mmap(nullptr, kSlots * sizeof(Slot), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    slots_ = static_cast<Slot*>(memory);
    return true;
  }

  void set(uint32_t correlation, uint64_t operation) {
    // relaxed: the slot is all there is, and the record comes by way of the driver, long after.
    slots_[correlation % kSlots].store(uint64_t{correlation >> kSlotBits} << kOperationBits | operation,
                                       std::memory_order_relaxed);
  }

  // 0: none.
  uint64_t operation(uint32_t correlation) const {
    const uint64_t slot = slots_[correlation % kSlots].load(std::memory_order_relaxed);
    if (slot >> kOperationBits != correlation >> kSlotBits) return 0;
    return slot & ((uint64_t{1} << kOperationBits) - 1);
  }

 private:
  using Slot = std::atomic<uint64_t>;
  static_assert(Slot::is_always_lock_free && sizeof(Slot) == 8);
  static constexpr uint32_t kSlots = 1u << kSlotBits;
  Slot* slots_ = nullptr;
};

}  // namespace diogenes
