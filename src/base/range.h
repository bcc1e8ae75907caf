// Half-open ranges of addresses.
#pragma once
#include <algorithm>
#include <compare>
#include <cstdint>

namespace diogenes {

inline constexpr uintptr_t kPageSize = 4096;  // x86-64; huge pages are made of these for mprotect

struct AddressRange {
  uintptr_t begin = 0;
  uintptr_t end = 0;  // [begin, end)

  constexpr auto operator<=>(const AddressRange&) const = default;
  static constexpr AddressRange of(uintptr_t begin, uint64_t bytes) { return {begin, begin + bytes}; }
  constexpr bool empty() const { return begin >= end; }
  constexpr uint64_t size() const { return empty() ? 0 : end - begin; }
  constexpr bool contains(uintptr_t address) const { return begin <= address && address < end; }
  constexpr bool contains(AddressRange other) const { return begin <= other.begin && other.end <= end; }
  constexpr bool overlaps(AddressRange other) const { return begin < other.end && other.begin < end; }
  // The whole pages that hold any byte of this range.
  constexpr AddressRange pages() const {
    return {begin & ~(kPageSize - 1), (end + kPageSize - 1) & ~(kPageSize - 1)};
  }
  constexpr AddressRange intersection(AddressRange other) const {
    return {std::max(begin, other.begin), std::min(end, other.end)};
  }
};

}  // namespace diogenes
