// How one frame leads to its caller: the unwind rule at one place in the code, in 64 bits.
// In: `.eh_frame`, as libgcc finds it. Out: rules, cached by address. Source: Linux Standard Base 5.0, 10.6;
// DWARF 4, 6.4. Kept is what compilers emit for a function that calls another: the frame's end (CFA) by rsp,
// by rbp, or stored below rbp (realigned stacks), the return address right below it, and where the caller's
// rbp is. All else is `other`; who walks leaves such a stack to libgcc.
#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace diogenes::agent {

struct FrameRule {
  enum class Cfa : uint8_t {
    other,         // not one of these
    last,          // this frame has no caller
    unlisted,      // no rule is listed for the code there
    from_rsp,      // rsp + cfa
    from_rbp,      // rbp + cfa
    stored_at_rbp  // the word at rbp + cfa
  };
  enum class Rbp : uint8_t { kept, stored_at_cfa, stored_at_rbp };

  Cfa kind = Cfa::other;
  Rbp rbp = Rbp::kept;
  int16_t rbp_offset = 0;  // bytes, from the CFA or from rbp
  int32_t cfa = 0;         // bytes

  bool operator==(const FrameRule&) const = default;
};
static_assert(sizeof(FrameRule) == sizeof(uint64_t));

// The rule that holds before the instruction at `address` runs, read anew.
FrameRule read_rule(uintptr_t address);

// Rules of frames that wait for a call to return. All are forgotten when a module comes or goes: make one for
// each walk. Signal-safe as far as libgcc's own walk is.
class RuleCache {
 public:
  RuleCache();
  FrameRule behind_call(uintptr_t return_address) const {
    const uint64_t key = return_address | generation_;
    const Entry& entry = entry_of(return_address);
    // acquire pairs with the release in learn(): a key is seen with its rule, or with a later one, which the
    // second look at the key shows.
    if (entry.key.load(std::memory_order_acquire) == key) {
      const uint64_t rule = entry.rule.load(std::memory_order_acquire);
      if (entry.key.load(std::memory_order_relaxed) == key) return std::bit_cast<FrameRule>(rule);
    }
    return learn(return_address);
  }

 private:
  struct Entry {
    std::atomic<uint64_t> key;  // address, and above it the generation of the module map
    std::atomic<uint64_t> rule;
  };
  static constexpr int kEntryBits = 14;
  static Entry entries_[1 << kEntryBits];
  static Entry& entry_of(uintptr_t address) {
    return entries_[(address * 0x9e3779b97f4a7c15) >> (64 - kEntryBits)];
  }
  FrameRule learn(uintptr_t return_address) const;

  uint64_t generation_;
};

}  // namespace diogenes::agent
