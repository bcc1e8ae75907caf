// Which addresses a kernel finds in the memory that the host shares with it. The CPU may have put them there
// unseen: a list in managed memory is given by its head, and its nodes are allocations of their own. So the
// blocks that a launch is given are read, and what they point at, as far as `kMostRead` bytes in all.
//
// Pages of managed memory that the CPU has not got are left out, for reading them would bring them back: they
// were read before the GPU took them, and held no address, if every launch since was read, and nothing else
// may have moved them (prefetches, copies; State::pages_taken counts those). Not seen: what the CPU writes
// while a kernel works on the same page. Reads the program's memory by the kernel, which takes guards for
// what they are and faults nowhere; never under the collector's lock.
#pragma once
#include <atomic>
#include <cstdint>

#include "base/range.h"

namespace diogenes::agent {

struct Call;
struct State;
struct Flight;

inline constexpr uint64_t kMostRead = 64 << 10;

// Reading takes 10 to 60 us a launch. A program that launches all the time is not to wait for that: beyond a
// start, a part of its time is spent so, and launches in between count as if their blocks could not be read.
class ReadingTime {
 public:
  bool is_left(int64_t now_ns) {
    int64_t none = 0;
    since_.compare_exchange_strong(none, now_ns, std::memory_order_relaxed);
    return spent_.load(std::memory_order_relaxed) <=
           kStart + (now_ns - since_.load(std::memory_order_relaxed)) / kPart;
  }
  void spend(int64_t ns) { spent_.fetch_add(ns, std::memory_order_relaxed); }
  void reset() { since_.store(0, std::memory_order_relaxed), spent_.store(0, std::memory_order_relaxed); }

  static constexpr int64_t kStart = 20'000'000, kPart = 20;

 private:
  std::atomic<int64_t> since_, spent_;
};

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

// Under the lock. May a kernel of this launch find more of the memory that is shared than it is given?
bool reaches_all_shared(const State& state, const Flight& flight);
// Before any call, when what it names is known: counts it where the GPU may take pages that were not read.
void note_pages_taken(State& state, const Call& call, const Flight& flight);

}  // namespace diogenes::agent
