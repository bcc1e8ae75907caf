#include "analysis/symbols/python_lines.h"

#include <span>

namespace diogenes {
namespace {

// 3.8, 3.9: bytes of code since the entry before, then lines since (signed).
int line_in_lnotab(std::span<const uint8_t> table, int first_line, uint64_t offset) {
  int64_t line = first_line;
  uint64_t address = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    address += table[i];
    if (address > offset) break;
    line += static_cast<int8_t>(table[i + 1]);
  }
  return static_cast<int>(line);
}

// 3.10: bytes of code that the entry covers, then lines since the entry before (signed; -128: it has none).
int line_in_line_table(std::span<const uint8_t> table, int first_line, uint64_t offset) {
  int64_t line = first_line;
  uint64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    const auto lines = static_cast<int8_t>(table[i + 1]);
    if (lines != -128) line += lines;
    end += table[i];
    if (offset < end) return lines == -128 ? 0 : static_cast<int>(line);
  }
  return static_cast<int>(line);
}

// From 3.11 on.
class Locations {
 public:
  Locations(std::span<const uint8_t> table, int first_line) : table_(table), line_(first_line) {}

  PythonPosition at(uint32_t instruction) {
    PythonPosition position{static_cast<int>(line_)};
    for (uint64_t end = 0; next_ < table_.size();) {
      const uint8_t head = table_[next_++];
      if (!(head & 0x80)) break;  // damaged: an entry begins with a byte above 127
      end += (head & 7) + 1u;
      position = entry(head >> 3 & 15);
      if (instruction < end) return position;
    }
    return position;
  }

 private:
  PythonPosition entry(unsigned kind) {
    if (kind == 15) return {};
    PythonPosition position;
    if (kind == 14) {
      line_ += signed_number();
      number();  // lines to the end
      position.column = column();
      position.end_column = column();
    } else if (kind == 13) {
      line_ += signed_number();
    } else if (kind >= 10) {
      line_ += kind - 10;
      position.column = byte();
      position.end_column = byte();
    } else {
      const uint8_t columns = byte();
      position.column = static_cast<int>(kind * 8 + (columns >> 4 & 7));
      position.end_column = position.column + (columns & 15);
    }
    position.line = line_ > 0 && line_ < INT32_MAX ? static_cast<int>(line_) : 0;
    return position;
  }

  uint8_t byte() { return next_ < table_.size() ? table_[next_++] : 0; }
  // Six bits a byte, the lowest first; bit 6 says that more follow.
  uint32_t number() {
    uint32_t value = 0;
    for (unsigned shift = 0; next_ < table_.size(); shift += 6) {
      const uint8_t part = table_[next_++];
      if (shift < 32) value |= static_cast<uint32_t>(part & 63) << shift;
      if (!(part & 64)) break;
    }
    return value;
  }
  int column() {  // kept with 1 added
    const uint32_t value = number();
    return value > 0 && value < 1 << 20 ? static_cast<int>(value) - 1 : -1;
  }
  int64_t signed_number() {
    const uint32_t value = number();
    return value & 1 ? -static_cast<int64_t>(value >> 1) : static_cast<int64_t>(value >> 1);
  }

  std::span<const uint8_t> table_;
  size_t next_ = 0;
  int64_t line_;
};

}  // namespace

PythonPosition position_of(const CodeTable::Code& code, uint32_t instruction) {
  if (instruction >= PythonFrame::kNoInstruction) return {};
  if (code.version >= 0x030b) return Locations(code.lines, code.first_line).at(instruction);
  const uint64_t offset = uint64_t{instruction} * 2;
  return {code.version == 0x030a ? line_in_line_table(code.lines, code.first_line, offset)
                                 : line_in_lnotab(code.lines, code.first_line, offset)};
}

uint64_t place_identity(const CodeTable::Code& code, uint32_t instruction) {
  const PythonPosition position = position_of(code, instruction);
  if (position.column < 0)
    return uint64_t{1} << 63 | uint64_t{instruction} << 32 | static_cast<uint32_t>(position.line);
  return static_cast<uint64_t>(position.line & 0x7fff'ffff) << 32 |
         static_cast<uint64_t>(position.column & 0xffff) << 16 |
         static_cast<uint64_t>(position.end_column & 0xffff);
}

}  // namespace diogenes
