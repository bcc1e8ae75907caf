// Loops of a file's machine code (x86-64). In: an ELF file (driver/hooking/image.h), addresses of samples. Out: the loops around
// them, which belong to the CodeLoops that found them. Source: the code, decoded from one end of a function to the other, and
// its direct branches. Functions end where the unwind tables say so, by which samples are walked, too. Not thread-safe.
//
// A loop that is reported exists, but not all that exist are reported. A jump through a table is followed where the case was
// compared with a constant before, as compilers do for a `switch`; any other indirect jump, an exception, and code that was moved
// out of its function ("name.cold") are ways out. Every call is taken to return: what stands behind one that does not may be
// reported as part of a loop, or hide it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "base/build_id.h"
#include "base/range.h"
#include "driver/hooking/image.h"

namespace diogenes {

// All addresses are virtual ones of the file, as Frame::offset() has them.
struct CodeLoop {
  uint64_t head = 0;                 // its first instruction, through which alone it is entered
  uint64_t lowest = 0, highest = 0;  // of its instructions: [lowest, highest)
  uint32_t depth = 1;                // 1: no loop around it in this function
  std::vector<AddressRange>
      blocks;  // sorted, none touches the next: what it consists of, inner loops included

  bool contains(uint64_t address) const;
};

class CodeLoops {
 public:
  // A file that cannot be read, is for another processor, or has another build id than the one given has no loops.
  explicit CodeLoops(const std::filesystem::path& file, const BuildId& build_id = {});

  // The innermost loop that contains the address. Null: none does, the function has no bounds, or it is too large to be
  // decoded. Valid while this lives. A function is decoded when it is first asked for, and its loops are kept.
  const CodeLoop* innermost(uint64_t address);

 private:
  std::optional<Image> image_;
  std::map<uint64_t, std::vector<CodeLoop>> loops_;  // of functions, by begin; inner loops first
};

}  // namespace diogenes
