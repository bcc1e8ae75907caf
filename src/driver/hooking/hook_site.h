// One place in the driver's code at which the agent gets in. Computed outside the target
// (driver/hooking/hook_planner.h, with a full decoder), checked and written inside it (agent/patcher). Plain
// data, written to disk inside the plan.
#pragma once
#include <cstdint>

namespace diogenes {

// A 32-bit displacement inside the moved code that must reach a fixed place of the image: once the moved code
// is at address A and the image at base B, the four bytes at A + at become (B + target) - (A + at + 4) -
// trailing. `trailing` is the number of instruction bytes that follow the displacement (an immediate, say).
struct HookFixup {
  uint8_t at;
  uint8_t trailing;
  uint8_t reserved[6];
  uint64_t target;  // image offset (virtual address - image base)
};

// How the moved code ends: the agent appends a jump back to image offset `entry + displaced`, unless
// `returns` is set.
struct HookSite {
  uint64_t entry;        // image offset of the function's first byte
  uint16_t function;     // catalogue index, or kWaitFunction / kQueueWaitFunction
  uint8_t displaced;     // bytes of whole instructions that the 5-byte jump at the entry covers, 5..31
  uint8_t moved_length;  // bytes of `moved`
  uint8_t fixup_count;
  uint8_t returns;  // the displaced bytes end in ret or jmp: no jump back is needed
  uint8_t reserved[2];
  uint8_t expected[32];  // the bytes at the entry, `displaced` or more; memory must agree before a write
  uint8_t moved[96];     // the displaced instructions as they are elsewhere, without the jump back
  HookFixup fixups[6];
};

}  // namespace diogenes
