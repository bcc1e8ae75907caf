// Lines of GPU code, with the functions that were inlined. In: a cubin's .debug_line, .debug_str and relocations. Out: for a
// place in the code the call that was inlined there, the call around that, and so on.
//
// Source: DWARF 2, section 6.2, and what nvcc adds to it with -lineinfo alone (files that nvcc 13 wrote for sm_75 to sm_121).
// Where the calls come from was compared with the PTX of the same sources: of 20,632 rows of inlined code 13 differ, all in names
// (below).
// - The extended operation 0x90 has two numbers (LEB128), which hold for all rows up to the next one: the row of the call that
//   was inlined, and where the called function's linkage name starts in .debug_str. Row 0: the code is the function's own. Rows
//   are counted from 1 in each sequence. Where a function starts, one row may stand there twice, and is counted once.
// - Where two functions were inlined at one row, one after the other, nvcc may leave out the operation for the second: its rows
//   then have their own file and line, and the first one's name.
// - A sequence starts with an address, whose relocation names the function. Of several rows at one address the last counts.
// - nvlink joins the .debug_str of several object files, but leaves the numbers in 0x90 as they were: they count from where the
//   part of their own file starts. Where the parts start is worked out from the names that are used. If the parts found so do
//   not fill .debug_str to its last byte, the names of all files but the first are not known.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/cubins/cubin_tables.h"
#include "driver/cubin_file.h"

namespace diogenes {

// Valid as long as what they came from. From one GpuLines, what is the same text is the same place in memory.
struct GpuFrame {
  std::string_view function;  // mangled; empty: not known
  std::string_view file;
  uint32_t line = 0;  // 0: not known
};

class GpuLines {
 public:
  static constexpr size_t kMostRows = 4 << 20;
  static constexpr size_t kMostTextBytes =
      64 << 20;  // of names of files and of functions that are read; of further ones none
  static constexpr size_t kMostFrames = 256;  // at one place; of more, those around the others are left out

  GpuLines() = default;
  GpuLines(const CubinFile& file, const CubinSymbols& symbols);

  // Frames at `offset` bytes from where the section starts, outermost first; the function that holds the code, `function`, is the
  // first. None: there is no row for it.
  std::vector<GpuFrame> frames_at(uint32_t section, uint64_t offset, std::string_view function) const;

  bool empty() const { return places_.empty(); }
  // False: there are lines that are not shown, as they are damaged, of another version than 2, or too many.
  bool complete() const { return complete_; }
  bool names_known() const { return names_known_; }

 private:
  friend class GpuLineReader;
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Row {
    uint32_t file, line;  // file: in texts_
    uint32_t call_site;   // in rows_, before this one; kNone: not inlined
    uint32_t name;        // in texts_; while they are read: in .debug_str. kNone: not known

    bool operator==(const Row&) const = default;
  };
  // From here on, up to the next place.
  struct Place {
    uint32_t section;
    uint32_t row;  // kNone: a sequence ends
    uint64_t offset;
  };

  std::vector<Row> rows_;
  std::vector<Place> places_;      // sorted by section and offset, no two of the same
  std::deque<std::string> texts_;  // each once; the first is empty
  bool complete_ = true, names_known_ = true;
};

}  // namespace diogenes
