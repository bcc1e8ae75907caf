// The arguments of a driver call, read as the catalogue says.
#pragma once
#include "agent/core/calls/call.h"

namespace diogenes::agent {

// A copy or fill in one or two dimensions. Rows lie `pitch` bytes apart; one row: height 1.
struct TransferArguments {
  Direction direction =
      Direction::unknown;  // by the function's name or its memory types; unknown: by the pointers
  bool fill = false;
  bool decoded = false;  // false: arrays, three dimensions, batches: addresses or size are not known
  uint64_t destination = 0, source = 0;
  uint64_t width = 0, height = 1;  // bytes in a row, rows
  uint64_t destination_pitch = 0, source_pitch = 0;

  uint64_t bytes() const { return width * height; }
  // The bytes from the first to the last of the destination (source) in memory.
  uint64_t destination_span() const { return height <= 1 ? width : destination_pitch * (height - 1) + width; }
  uint64_t source_span() const { return height <= 1 ? width : source_pitch * (height - 1) + width; }
};

// Of a fill.
uint64_t element_bytes(const DriverFunction& fill);
// False: the call moves no data.
bool read_transfer(const Call& call, TransferArguments* transfer);

struct AllocationArguments {
  MemoryKind kind = MemoryKind::unknown;
  bool released = false;
  uint64_t address = 0, bytes = 0;  // bytes 0: not known (release)
};

// After the call, because allocations return their address through a pointer. False: no allocation or
// release.
bool read_allocation(const Call& call, AllocationArguments* allocation);

// The stream handle that the call names, and whether null means the thread's own default stream. False: it
// names none.
bool read_stream(const Call& call, uint64_t* handle, bool* per_thread);

// How many blocks a launch that succeeded has, 2^32 - 1 at most; 0: not known.
uint32_t launched_blocks(const Call& call);

// What kind of memory a pointer names, asked of the driver. Pageable where the driver does not know it.
MemoryKind kind_of_pointer(uint64_t address);

}  // namespace diogenes::agent
