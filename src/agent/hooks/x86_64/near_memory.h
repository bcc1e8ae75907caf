// Executable memory within reach of a 5-byte jump (2 GiB) of some code. Written once, then read and executed
// only.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/range.h"

namespace diogenes::agent {

// Readable and writable; `bytes` is a multiple of the page size. Null: no room near, or mmap failed.
uint8_t* allocate_near(AddressRange code, size_t bytes);

// From writable to executable. False: the kernel refused.
bool make_executable(uint8_t* memory, size_t bytes);

// The parts of `code` that are writable now, in order, `limit` at most; how many. A tool that puts its own
// jump there and takes it away again with every call keeps its pages so, and faults on them when they are
// not.
int writable_parts(AddressRange code, AddressRange* parts, int limit);

// Into writable code; in one store where it lies within eight aligned bytes, as an entry's jump does: another thread may come
// there at any time.
void store_code(uintptr_t address, const uint8_t* bytes, size_t count);

// The same where code is not writable, its pages writable for a moment and then as they were (readable, executable).
// False: the kernel refused, nothing written.
bool overwrite_code(uintptr_t address, const uint8_t* bytes, size_t count);

}  // namespace diogenes::agent
