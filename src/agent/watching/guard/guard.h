// One guard, how it is asked for, and what its end says.
#pragma once
#include <atomic>
#include <cstdint>

#include "agent/core/stacks/stack.h"
#include "base/range.h"
#include "base/units.h"

namespace diogenes::agent {

enum class Access : uint8_t { none, read, write, unknown };

enum class TouchBy : uint8_t {
  nobody,       // still untouched
  program,      // an instruction of the program or of a library
  driver,       // an instruction inside libcuda, or on a thread inside a driver call
  system_call,  // a system call was given the range
  exposed,      // its page stood open for a while: it may have been touched unseen
  gone,  // munmap, madvise(DONTNEED), free of the whole range, its stack frame has ended: released, not used
  given_up,  // taken down for fork, vfork, exec, an unknown system call, or a foreign signal handler
};

struct Touch {
  TouchBy by = TouchBy::nobody;
  Access access = Access::none;
  Nanoseconds at;         // CLOCK_MONOTONIC
  uintptr_t address = 0;  // first byte touched inside the range
  uint32_t stack = 0;     // StackIndex of the touching code; kNoStack where none
  uint32_t steps = 0;     // accesses beside the range that were stepped over before
  // So long before `at` the toucher had come: its stack was walked, others were awaited.
  Nanoseconds held;

  Nanoseconds came() const { return at - held; }
};

enum class Protection : uint8_t { no_access, read_only };  // read_only: against writing (reuse of a source)

enum class WatchMethod : uint8_t {
  pages,        // heap, pinned or managed memory
  watchpoints,  // small ranges whose pages must stay open: stacks, thread-local storage, shared with other
                // data
};

struct Watching {
  WatchMethod method = WatchMethod::pages;
  FrameMarks frame;  // of the stack frame that the range lies in
  // The driver mapped these pages: no thread has its stack or its local storage there, however near they lie.
  bool own_pages = false;
  uint32_t watch = 0;  // the guard's watch in the records; 0: nothing of it is recorded
  uint32_t deferral =
      0;  // whoever touches its pages awaits this first (DeferredWaits, guard_table.h); 0: nothing
  bool tells = false;  // DeferredWaits is told of a touch
};

// Why a guard by watchpoints was refused.
enum class NoWatchpoints : uint8_t { not_now, does_not_fit, none_here, all_taken };

using GuardHandle = uint32_t;
inline constexpr GuardHandle kNoGuard = 0;

struct Guard {
  enum State : uint8_t { unused, live, touched };
  AddressRange range;
  Protection protection = Protection::no_access;
  std::atomic<uint8_t> state{unused};  // release when touched, after `touch`; acquire in collect()
  uint16_t generation = 0;             // of the slot, in handles
  uint32_t steps = 0;                  // accesses beside it that were stepped over
  uint8_t registers = 0;               // watchpoints that it has, one bit each
  bool by_watchpoints = false;         // asks nothing of its pages
  uint32_t watch = 0;                  // of Watching
  uint32_t deferral = 0;               // of Watching
  bool tells = false;                  // of Watching
  FrameMarks frame;
  Touch touch;
};

}  // namespace diogenes::agent
