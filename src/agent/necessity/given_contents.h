// Which addresses a kernel finds in the memory that the host shares with it. The CPU may have put them there
// unseen: a list in managed memory is given by its head, and its nodes are allocations of their own. So the
// blocks that a launch is given are read, and what they point at, as far as `kMostRead` bytes in all.
//
// Pages of managed memory that the CPU has not got are left out: what the GPU took away it has had since an
// earlier launch, and reading them would bring them back. Reads the program's memory by the kernel, which
// takes guards for what they are and faults nowhere; never under the collector's lock.
#pragma once
#include <cstdint>

#include "base/range.h"

namespace diogenes::agent {

struct State;
struct Flight;

inline constexpr uint64_t kMostRead = 64 << 10;

// The allocations that one launch reaches by what it is given.
struct GivenBlocks {
  static constexpr int kMaximum = 16;
  AddressRange block[kMaximum];
  uint8_t count;
  bool all_read;  // what is shared among them was read, and points at nothing else that is shared

  void clear() { count = 0, all_read = false; }
  bool contains(AddressRange range) const {
    for (int i = 0; i < count; ++i)
      if (block[i] == range) return true;
    return false;
  }
};

// Before a launch: fills flight.blocks, and adds to flight.given what the blocks point at.
void read_given_blocks(State& state, Flight& flight);

}  // namespace diogenes::agent
