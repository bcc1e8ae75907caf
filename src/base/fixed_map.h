// A hash table of fixed size, for tables that live in a target: no heap, no growth. Keys are never 0.
// All zeros is an empty table, so that it lies in .bss and costs nothing until it is used.
#pragma once
#include <cstdint>

namespace diogenes {

template <typename Value, uint32_t kSlots>
class FixedMap {
  static_assert((kSlots & (kSlots - 1)) == 0, "a power of two");

 public:
  Value* find(uint64_t key) {
    for (uint32_t at = home(key); slots_[at].key != 0; at = (at + 1) & (kSlots - 1))
      if (slots_[at].key == key) return &slots_[at].value;
    return nullptr;
  }

  // The key's value, made if it was not there. Null: full (a quarter stays free, so that every search ends).
  Value* insert(uint64_t key, const Value& value) {
    if (Value* found = find(key)) {
      *found = value;
      return found;
    }
    if (key == 0 || used_ >= kSlots / 4 * 3) return nullptr;
    uint32_t at = home(key);
    while (slots_[at].key != 0) at = (at + 1) & (kSlots - 1);
    ++used_;
    slots_[at] = {key, value};
    return &slots_[at].value;
  }

  void erase(uint64_t key) {
    uint32_t hole = home(key);
    while (slots_[hole].key != key) {
      if (slots_[hole].key == 0) return;
      hole = (hole + 1) & (kSlots - 1);
    }
    --used_;
    // What stands behind the hole moves up, so that no search stops at it.
    for (uint32_t at = (hole + 1) & (kSlots - 1); slots_[at].key != 0; at = (at + 1) & (kSlots - 1)) {
      uint32_t wanted = home(slots_[at].key);
      if (((at - wanted) & (kSlots - 1)) < ((at - hole) & (kSlots - 1))) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole].key = 0;
  }

  void clear() {
    if (used_ == 0) return;
    for (auto& slot : slots_) slot.key = 0;
    used_ = 0;
  }

 private:
  static uint32_t home(uint64_t key) {
    return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15) >> 40) & (kSlots - 1);
  }
  struct Entry {
    uint64_t key;
    Value value;
  };
  Entry slots_[kSlots];
  uint32_t used_;
};

}  // namespace diogenes
