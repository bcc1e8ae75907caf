#include "driver/hooking/eh_frame.h"

#include <unordered_map>

#include "base/read_bytes.h"

namespace diogenes {
namespace {

constexpr uint8_t kOmit = 0xff;
constexpr uint8_t kPcRelative = 0x10;
constexpr uint8_t kIndirect = 0x80;

// The size of a record's fields behind its length, or 0: the terminator, or nothing that makes sense.
size_t read_length(std::span<const uint8_t> section, size_t* position) {
  uint32_t short_length;
  if (!read_number(section, position, &short_length)) return 0;
  uint64_t length = short_length;
  if (short_length == 0xffffffff && !read_number(section, position, &length)) return 0;
  return length <= section.size() - *position ? static_cast<size_t>(length) : 0;
}

// Reads one pointer in a DW_EH_PE_ encoding at `*position`, and moves it on. False where that is not
// possible. `address`: virtual address of the span's first byte, for pc-relative ones.
bool read_encoded(std::span<const uint8_t> bytes, uint64_t address, uint8_t encoding, size_t* position,
                  uint64_t* value) {
  const uint64_t here = address + *position;
  uint64_t result = 0;
  const auto fixed = [&]<typename T>(T number) {
    if (!read_number(bytes, position, &number)) return false;
    result = static_cast<uint64_t>(static_cast<int64_t>(number));
    return true;
  };
  bool ok = false;
  switch (encoding & 0x0f) {
    case 0x00:
      ok = fixed(int64_t{});
      break;
    case 0x01:
      ok = read_leb(bytes, position, false, &result);
      break;
    case 0x02:
      ok = fixed(uint16_t{});
      break;
    case 0x03:
      ok = fixed(uint32_t{});
      break;
    case 0x04:
      ok = fixed(int64_t{});
      break;
    case 0x09:
      ok = read_leb(bytes, position, true, &result);
      break;
    case 0x0a:
      ok = fixed(int16_t{});
      break;
    case 0x0b:
      ok = fixed(int32_t{});
      break;
    case 0x0c:
      ok = fixed(int64_t{});
      break;
  }
  if (!ok || (encoding & kIndirect) != 0) return false;
  switch (encoding & 0x70) {
    case 0x00:
      break;
    case kPcRelative:
      result += here;
      break;
    default:
      return false;  // relative to text, data or function: not used on x86-64
  }
  *value = result;
  return true;
}

// The encoding of an FDE's addresses, as its CIE says; kOmit where it cannot be told.
uint8_t address_encoding(std::span<const uint8_t> section, uint64_t address, size_t cie) {
  size_t position = cie;
  const size_t length = read_length(section, &position);
  if (length == 0) return kOmit;
  const std::span<const uint8_t> bytes = section.first(position + length);
  uint32_t id;
  uint8_t version;
  if (!read_number(bytes, &position, &id) || id != 0 || !read_number(bytes, &position, &version))
    return kOmit;
  if (version != 1 && version != 3) return kOmit;
  const size_t augmentation = position;
  while (position < bytes.size() && bytes[position] != 0) ++position;
  if (position >= bytes.size()) return kOmit;
  const std::span<const uint8_t> letters = bytes.subspan(augmentation, position - augmentation);
  ++position;
  uint64_t ignored;
  if (!read_leb(bytes, &position, false, &ignored) || !read_leb(bytes, &position, true, &ignored))
    return kOmit;
  uint8_t return_register;
  if (version == 1 ? !read_number(bytes, &position, &return_register)
                   : !read_leb(bytes, &position, false, &ignored))
    return kOmit;
  if (letters.empty()) return 0;  // absolute addresses
  if (letters[0] != 'z' || !read_leb(bytes, &position, false, &ignored)) return kOmit;
  for (const uint8_t letter : letters.subspan(1)) {
    uint8_t encoding;
    switch (letter) {
      case 'R':
        return read_number(bytes, &position, &encoding) ? encoding : kOmit;
      case 'L':
        if (!read_number(bytes, &position, &encoding)) return kOmit;
        break;
      case 'P':
        if (!read_number(bytes, &position, &encoding) ||
            !read_encoded(bytes, address, encoding & ~kIndirect, &position, &ignored))
          return kOmit;
        break;
      case 'S':
      case 'B':
        break;
      default:
        return kOmit;
    }
  }
  return 0;
}

}  // namespace

std::vector<FunctionBounds> parse_eh_frame(std::span<const uint8_t> section, uint64_t address) {
  std::vector<FunctionBounds> functions;
  std::unordered_map<size_t, uint8_t> encodings;  // by the CIE's position
  for (size_t position = 0; position < section.size();) {
    const size_t length = read_length(section, &position);
    if (length < 4) break;
    const size_t record = position;
    const std::span<const uint8_t> bytes = section.first(record + length);
    uint32_t cie_distance;
    if (!read_number(bytes, &position, &cie_distance)) break;
    if (cie_distance != 0 && cie_distance <= record) {
      const size_t cie = record - cie_distance;
      const auto [known, is_new] = encodings.try_emplace(cie, kOmit);
      if (is_new) known->second = address_encoding(section, address, cie);
      const uint8_t encoding = known->second;
      FunctionBounds bounds;
      if (encoding != kOmit && read_encoded(bytes, address, encoding, &position, &bounds.begin) &&
          read_encoded(bytes, address, encoding & 0x0f, &position, &bounds.size) && bounds.size != 0)
        functions.push_back(bounds);
    }
    position = record + length;
  }
  return functions;
}

}  // namespace diogenes
