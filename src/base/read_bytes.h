// Numbers from bytes that may be cut or damaged: each function reads at `*position` and moves it on, or says false and leaves
// `*value` alone. In and out: little-endian, as x86-64 is. Source of LEB128: DWARF 4, 7.6. Nothing is allocated.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace diogenes {

template <typename T>
bool read_number(std::span<const uint8_t> bytes, size_t* position, T* value) {
  if (*position > bytes.size() || bytes.size() - *position < sizeof(T)) return false;
  memcpy(value, bytes.data() + *position, sizeof(T));
  *position += sizeof(T);
  return true;
}

// A signed one is extended to 64 bits. Bits beyond 64 are dropped.
inline bool read_leb(std::span<const uint8_t> bytes, size_t* position, bool is_signed, uint64_t* value) {
  uint64_t result = 0;
  for (unsigned shift = 0; *position < bytes.size() && shift < 70; shift += 7) {
    const uint8_t byte = bytes[(*position)++];
    if (shift < 64) result |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte & 0x80) continue;
    if (is_signed && (byte & 0x40) && shift + 7 < 64) result |= ~uint64_t{0} << (shift + 7);
    *value = result;
    return true;
  }
  return false;
}

}  // namespace diogenes
