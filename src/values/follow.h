// One value on its way, and the thread that it is followed on.
//
//            a touch                    a call into the driver or the agent
//     free ----------->  stepping  ------------------------------------------>  returning
//       ^                 |  |  ^      <--- the call's return (debug register) --   |
//       |   a consequence |  |  |                                                  |
//       +-----------------+  |  +--- a copy is touched (debug register) ---  watching
//       |                    +------ the window is over, copies are left ------->  |
//       +--------------------------------------------------------------------------+
//
// stepping: the trap flag is set, and each SIGTRAP looks at the instruction that is next, before it is executed.
// returning: the thread runs freely; who is called gets no part of the value, and may overwrite copies of it.
// watching: the thread runs freely; one copy of at most 8 bytes is watched, on this thread.
#pragma once
#include <atomic>
#include <cstdint>

#include "values/debug_register.h"
#include "values/root_guard.h"
#include "values/taint.h"
#include "values/value_copies.h"

namespace diogenes::values {

enum class State : uint8_t { free, stepping, returning, watching };

struct Follow {
  std::atomic<uint32_t> thread{0};  // the kernel's id; 0: nobody's
  State state = State::free;
  Taint taint;
  RootGuard root_guard;
  ValueRecord record{};
  AddressRange touched;   // the watched range
  AddressRange accessed;  // what of it the first instruction accessed
  uint32_t window_end = 0;
  bool extended = false;  // the window was doubled, because registers held the value
  uint32_t watches = 0;   // so far
  uint64_t last_instruction = 0, last_count = 0;
  bool interrupted = false;   // by a handler of the program's
  bool pushed_flags = false;  // the instruction before has put the trap flag on the stack
  DebugRegister debug_register;
  uintptr_t return_to = 0, return_stack = 0;
  CopyContents contents;  // when that call began
  AddressRange watched;
  uint64_t content = 0;    // of `watched`
  int64_t began_ns = 0;    // of the current stretch of stepping
  int64_t ran_ns = 0;      // the thread so far, when that was accounted for last
  int64_t stepped_ns = 0;  // all stretches before
};

}  // namespace diogenes::values
