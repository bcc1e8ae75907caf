// Python in the trace: what its frames in stacks say, and the functions that they name. Written by
// src/python, read by trace/reader.h and analysis/symbols/mixed_stack.h.
#pragma once
#include "trace/format.h"

namespace diogenes {

// What became of reading the frames of CPython.
enum class PythonState : uint32_t {
  none,             // no interpreter ran
  read,             // frames were read, except as `unreadable` says
  unknown_version,  // not one of 3.8 to 3.14
  several,          // two interpreters run in the process
  unlike,           // its memory is not laid out as that version's should be
};

// A frame of Python, in the offset of a Frame: the function, the instruction in units of two bytes from the
// code's begin, and whether the interpreter entered its evaluator for it. The machine's frames of one
// evaluator stand for the frames of Python up to such a one.
struct PythonFrame {
  uint32_t code;         // the CodeRecord's offset in the file `python`, in 8-byte words
  uint32_t instruction;  // kNoInstruction: not known
  bool entry;

  static constexpr uint32_t kMostCode = 0xff'ffff, kNoInstruction = 0x7f'ffff, kEntry = 0x80'0000;

  constexpr Frame packed(uint64_t module = Frame::kPython) const {
    const uint32_t kept = instruction < kNoInstruction ? instruction : kNoInstruction;
    return Frame::of(module, uint64_t{code} << 24 | (entry ? kEntry : 0) | kept);
  }
  static constexpr bool is(Frame frame) {
    return frame.module() == Frame::kPython || frame.module() == Frame::kPythonOfWaiter;
  }
  static constexpr PythonFrame of(Frame frame) {
    return {static_cast<uint32_t>(frame.offset() >> 24),
            static_cast<uint32_t>(frame.offset() & kNoInstruction), (frame.offset() & kEntry) != 0};
  }
};

// A function of Python (a code object). Text is UTF-8; zeros follow it up to the record's end.
struct CodeRecord {
  uint32_t bytes;    // of the record with what follows, a multiple of 8; written last; 0 ends the file
  uint16_t version;  // 0x030b: tells how the line table is read
  uint16_t reserved;
  int32_t first_line;
  uint32_t file_bytes, name_bytes, lines_bytes;
  // char file[file_bytes], name[name_bytes]; uint8_t lines[lines_bytes];
};
static_assert(sizeof(CodeRecord) == 24);

}  // namespace diogenes
