#include "agent/stack.h"

#include <unwind.h>

#include "agent/modules.h"
#include "agent/stack_table.h"
#include "agent/thread_state.h"

// Of this library, by the linker.
extern "C" {
extern __attribute__((visibility("hidden"))) const char __ehdr_start[];
extern __attribute__((visibility("hidden"))) const char etext[];
}

namespace diogenes::agent {

namespace {

// Between a host function and the driver that runs it (host_functions.cc).
bool in_agent(uintptr_t address) {
  return address >= reinterpret_cast<uintptr_t>(__ehdr_start) && address < reinterpret_cast<uintptr_t>(etext);
}

struct Walk {
  uintptr_t addresses[kMaximumFrames];
  int count = 0;
  bool cut = false;
  uintptr_t from_frame = 0;    // frames whose stack pointer is below are left out
  uintptr_t from_address = 0;  // or: everything before the frame with this instruction is left out
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* opaque) {
  auto& walk = *static_cast<Walk*>(opaque);
  int exact = 0;
  uintptr_t address = _Unwind_GetIPInfo(context, &exact);
  if (address == 0) return _URC_END_OF_STACK;
  if (walk.from_address) {
    if (address != walk.from_address) return _URC_NO_REASON;
    walk.from_address = 0;
    exact = 1;
  } else if (_Unwind_GetCFA(context) < walk.from_frame) {
    return _URC_NO_REASON;
  }
  if (in_agent(address)) return _URC_NO_REASON;
  if (walk.count == kMaximumFrames) {
    walk.cut = true;
    return _URC_END_OF_STACK;
  }
  walk.addresses[walk.count++] = exact ? address : address - 1;
  return _URC_NO_REASON;
}

uint32_t walk_from(uintptr_t frame, uintptr_t address, uint32_t back, bool in_signal) {
  Walk walk;
  walk.from_frame = frame;
  walk.from_address = address;
  _Unwind_Backtrace(visit, &walk);
  if (walk.count == 0 && address) walk.addresses[walk.count++] = address;
  if (walk.count > 0) walk.addresses[0] -= back;
  return walk.count == 0 ? kNoStack : intern_stack(walk.addresses, walk.count, walk.cut, in_signal);
}

// A context's `CFA` is where the stack pointer stands when its frame goes on: the frame below ends there,
// with its return address right before.
struct MarkWalk {
  uintptr_t address;
  uintptr_t below = 0;  // where the frame begins that is looked at
  FrameMarks marks;
};

_Unwind_Reason_Code visit_for_marks(_Unwind_Context* context, void* opaque) {
  auto& walk = *static_cast<MarkWalk*>(opaque);
  uintptr_t stack = _Unwind_GetCFA(context), return_address = _Unwind_GetIP(context);
  bool holds = walk.below >= thread_state.call_frame && walk.below <= walk.address && walk.address < stack;
  walk.below = stack;
  if (!holds && walk.marks.count == 0) return stack > walk.address ? _URC_END_OF_STACK : _URC_NO_REASON;
  uintptr_t place = stack - sizeof(uintptr_t);
  // A signal's frame has none there.
  if (*reinterpret_cast<const uintptr_t*>(place) != return_address) return _URC_END_OF_STACK;
  walk.marks.places[walk.marks.count] = place;
  walk.marks.addresses[walk.marks.count++] = return_address;
  return walk.marks.count == kFrameMarks ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

uint32_t capture_stack() { return walk_from(thread_state.call_frame, 0, 0, false); }

uint32_t capture_interrupted_stack(const ucontext_t* context, uint32_t back) {
  return walk_from(0, static_cast<uintptr_t>(context->uc_mcontext.gregs[REG_RIP]), back, true);
}

FrameMarks frame_marks(uintptr_t address) {
  MarkWalk walk{.address = address};
  if (thread_state.call_frame != 0 && address >= thread_state.call_frame)
    _Unwind_Backtrace(visit_for_marks, &walk);
  return walk.marks;
}

}  // namespace diogenes::agent
