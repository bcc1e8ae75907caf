// The copies of a value that lie in memory: which nobody can read any more, and which to watch.
#pragma once
#include <cstdint>

#include "trace/value_source.h"
#include "values/memory_set.h"

namespace diogenes::values {

// What the copies held when a call began that is not stepped through, and may overwrite some. free() does so, for example:
// what lies there behind it is the allocator's.
class CopyContents {
 public:
  void note(const MemorySet& copies, const ValueServices& services);
  // The same copies as then; those that hold something else are taken out.
  void drop_overwritten(MemorySet& copies, const ValueServices& services) const;

 private:
  uint64_t contents_[MemorySet::kMost] = {};
};

// Takes out what lies below the stack pointer.
void drop_dead_copies(MemorySet& copies, uintptr_t stack);

// At most 8 bytes of the copy that was made last, and of one of the heap before one of the stack; of `accessed` where there is
// none but the memory that was touched. `count`: the copies beside that. Empty: there is nothing to watch.
AddressRange copy_to_watch(const MemorySet& copies, AddressRange touched, AddressRange accessed,
                           uintptr_t stack, int& count);

}  // namespace diogenes::values
