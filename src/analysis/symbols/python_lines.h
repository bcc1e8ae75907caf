// Which line of Python an instruction stands for. In: a function's line table as CPython keeps it, in the
// format of its version: pairs of differences (3.8, 3.9: co_lnotab; 3.10: co_linetable), or locations (from
// 3.11 on). Sources: CPython's Objects/lnotab_notes.txt and InternalDocs/code_objects.md. Tables may be cut
// or damaged: then the line is that of the last instruction that is told, or the function's first.
#pragma once
#include <cstdint>

#include "trace/reader.h"

namespace diogenes {

struct PythonPosition {
  int line = 0;                      // 0: not known
  int column = -1, end_column = -1;  // of the expression, from 0; -1: not told
  bool operator==(const PythonPosition&) const = default;
};

// `instruction`: in units of two bytes; PythonFrame::kNoInstruction: not known, and so is the line.
PythonPosition position_of(const CodeTable::Code& code, uint32_t instruction);

// The same for each time that a place in the program's text is reached, whatever the interpreter has made of
// its instructions meanwhile: by the position where columns are told, else by the instruction.
uint64_t place_identity(const CodeTable::Code& code, uint32_t instruction);

}  // namespace diogenes
