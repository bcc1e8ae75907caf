// Code that a compiler moved out of its function ("name.cold"), in a file whose local symbols were stripped. In: the file's
// exports, bounds and code (driver/hooking/image.h). Out: the exported function that a place in such code belongs to. The
// moved code has bounds of its own, no name, and jumps back into the middle of its function, which other functions do not.
// GCC 15 moves nearly all of CPython's evaluator: without its name, nobody knows where Python's frames stand in a stack.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/hooking/image.h"

namespace diogenes {

class SplitFunctions {
 public:
  // A file that cannot be read has none.
  explicit SplitFunctions(const std::filesystem::path& file);

  // `address`: virtual, in the file. "": it is no such code, or jumps back into more than one function.
  std::string function_of(uint64_t address);

 private:
  std::string parent_of(const Image::Function& part) const;

  std::optional<Image> image_;
  std::vector<Image::Export> exports_;       // of a known size, by offset
  std::map<uint64_t, std::string> parents_;  // of parts that were asked for, by offset
};

}  // namespace diogenes
