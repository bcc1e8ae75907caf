// The identity of an ELF file's contents: its NT_GNU_BUILD_ID note, cut to 20 bytes.
#pragma once
#include <array>
#include <compare>
#include <cstdint>

namespace diogenes {

struct BuildId {
  std::array<uint8_t, 20> bytes{};
  uint8_t length = 0;  // 0: the file has none

  constexpr auto operator<=>(const BuildId&) const = default;
};

// Lower-case hexadecimal, as `file` and the .build-id folders print it. `out` holds 41 characters.
inline void to_hex(const BuildId& id, char* out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (int i = 0; i < id.length; ++i) {
    *out++ = kDigits[id.bytes[i] >> 4];
    *out++ = kDigits[id.bytes[i] & 15];
  }
  *out = 0;
}

}  // namespace diogenes
