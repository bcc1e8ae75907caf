// The agent's own stack walk, by cached rules (frame_rule.h). It gives up where it does not know better;
// libgcc's walk is the reference, and what a new stack is compared with (stack.cc).
#pragma once
#include <cstdint>

#include "trace/format.h"

namespace diogenes::agent {

struct Frames {
  uintptr_t addresses[kMaximumFrames];  // as a symbolizer takes them: before the return address, or the exact
                                        // instruction
  uintptr_t places[kMaximumFrames];     // of the return addresses on the stack; 0: it was in a register
  int count = 0;
  bool cut = false;  // there are more
};

// What a walk begins with: the frame that goes on at `address`.
struct Registers {
  uintptr_t address, rsp, rbp;
  bool exact;       // interrupted right before the instruction there, not in a call
  uintptr_t place;  // of `address` on the stack, or 0
};

enum class Walked : uint8_t {
  whole,   // to the outermost frame, or as many as are kept
  astray,  // to a frame whose stack cannot be what its rule says: nobody may follow it
  gave_up  // to a frame whose rule is not one of those that we know: libgcc knows more
};

// What a walk was led by: words of the stack, and rbp as it was at the beginning.
struct WordsRead {
  static constexpr int kMost = 256;
  bool rbp = false;
  int count = 0;       // negative: there were more
  uint32_t at[kMost];  // in words from where rsp was at the beginning
  uintptr_t values[kMost];

  void add(uint64_t word, uintptr_t value) {
    if (count < 0 || count == kMost || word > UINT32_MAX) {
      count = -1;
      return;
    }
    at[count] = static_cast<uint32_t>(word);
    values[count++] = value;
  }
};

// Innermost first.
Walked walk_frames(const Registers& from, Frames& to, WordsRead& words);

// Are so many words of the calling thread's stack there, from `rsp` on?
bool is_on_readable_stack(uintptr_t rsp, uint32_t words);

}  // namespace diogenes::agent
