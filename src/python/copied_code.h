// A code object of the interpreter's, copied as a record of the trace. In: memory of CPython's, laid out as a Layout says, through
// Memory (memory.h). Out: a CodeRecord with its text.
#pragma once
#include <cstring>

#include "python/chain.h"

namespace diogenes::python {

inline constexpr uint64_t kMostPath = 4096, kMostName = 1024, kMostLines = 128 << 10;
inline constexpr size_t kMostCodeBytes = sizeof(CodeRecord) + kMostPath + kMostName + kMostLines + 8;

// As UTF-8, at most `most` bytes of it.
inline uint32_t put_character(uint32_t character, uint8_t* to) {
  if (character < 0x80) return to[0] = static_cast<uint8_t>(character), 1;
  const auto last = [&](int shift) { return static_cast<uint8_t>(0x80 | (character >> shift & 0x3f)); };
  if (character < 0x800) return to[0] = static_cast<uint8_t>(0xc0 | character >> 6), to[1] = last(0), 2;
  if (character < 0x10000)
    return to[0] = static_cast<uint8_t>(0xe0 | character >> 12), to[1] = last(6), to[2] = last(0), 3;
  return to[0] = static_cast<uint8_t>(0xf0 | (character >> 18 & 7)), to[1] = last(12), to[2] = last(6),
         to[3] = last(0), 4;
}

template <typename Memory>
bool copy_text(const Layout& at, uintptr_t text, uint64_t most, uint8_t* to, uint32_t& bytes) {
  View view;
  bytes = 0;
  if (!Memory::look(text, at.ascii_bytes, view)) return false;
  const auto length = view.get<uint64_t>(at.text_length);
  const uint32_t state = view.get<uint32_t>(at.text_state) >> at.kind_shift;
  const uint32_t width = state & 7;
  if (!(state & 8) || (width != 1 && width != 2 && width != 4)) return false;  // not compact: not a plain str
  uintptr_t from = text + ((state & 16) ? at.ascii_bytes : at.compact_bytes);
  for (uint64_t left = length; left > 0;) {
    const uint64_t step = left < sizeof view.copy / width ? left : sizeof view.copy / width;
    if (!Memory::copy(from, step * width, view.copy)) return false;
    for (uint64_t i = 0; i < step; ++i) {
      if (bytes + 4 > most) return true;
      uint32_t character = 0;
      memcpy(&character, view.copy + i * width, width);
      bytes += put_character(character, to + bytes);
    }
    from += step * width;
    left -= step;
  }
  return true;
}

template <typename Memory>
bool copy_lines(const Layout& at, uintptr_t lines, uint8_t* to, uint32_t& bytes) {
  uint64_t length = 0;
  bytes = 0;
  if (!Memory::copy(lines + at.bytes_length, sizeof length, &length)) return false;
  if (length > kMostLines) length = kMostLines;
  bytes = static_cast<uint32_t>(length);
  return length == 0 || Memory::copy(lines + at.bytes_data, length, to);
}

// The record but for its first 8 bytes, which are in `header`. `record`: room for kMostCodeBytes. False: it cannot be read.
template <typename Memory>
bool copy_code(const Interpreter& interpreter, uintptr_t code, CodeRecord& header, uint8_t* record) {
  const Layout& at = interpreter.layout;
  View view;
  if (!Memory::look(code, at.code_bytes, view) || view.get<uintptr_t>(at.type) != interpreter.code_type)
    return false;
  header = {};
  header.version = at.version;
  header.first_line = view.get<int32_t>(at.first_line);
  uint8_t* to = record + sizeof header;
  if (!copy_text<Memory>(at, view.get<uintptr_t>(at.file), kMostPath, to, header.file_bytes)) return false;
  to += header.file_bytes;
  if (!copy_text<Memory>(at, view.get<uintptr_t>(at.name), kMostName, to, header.name_bytes)) return false;
  to += header.name_bytes;
  if (!copy_lines<Memory>(at, view.get<uintptr_t>(at.lines), to, header.lines_bytes)) return false;
  to += header.lines_bytes;
  while ((to - record) % 8 != 0) *to++ = 0;
  header.bytes = static_cast<uint32_t>(to - record);
  memcpy(record + 8, reinterpret_cast<uint8_t*>(&header) + 8, sizeof header - 8);
  return true;
}

}  // namespace diogenes::python
