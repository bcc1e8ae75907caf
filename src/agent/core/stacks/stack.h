// Call stacks: walked, cut to the frames that are the program's, interned, recorded as an index.
// In: the machine stack. Out: StackIndex values of this process's `stacks` file. Known stacks are
// found by our own walk (unwind/walker.h), new ones by libgcc's.
#pragma once
#include <ucontext.h>

#include <cstdint>

namespace diogenes::agent {

// The stack of the calling thread outside the hooked call under way: the agent's frames are left out, and the
// driver's inside an outermost public call. Under a wait function that no public call was seen to enter
// (stage 1 hooks no other), the driver's frames are kept, to learn under which public call the wait happens.
uint32_t capture_stack();

// The stack at the place that a signal interrupted; its first frame is the exact instruction, or `back` bytes
// before it (1: some byte of the one before). Signal-safe.
uint32_t capture_interrupted_stack(const ucontext_t* context, uint32_t back = 0);

// Is it this library's code?
bool in_agent(uintptr_t address);

// Has the stack frame that some memory lies in ended? Its return address is kept at one place for as long as
// it lives, and so are those of its callers; one that reads differently says that it has returned, or was
// left by an exception. One that still reads the same says nothing.
inline constexpr int kFrameMarks = 3;  // the frame and its nearest callers
struct FrameMarks {
  uint32_t count = 0;  // 0: not on a stack that could be walked
  uintptr_t places[kFrameMarks];
  uintptr_t addresses[kFrameMarks];
};
// Of the program's frame on the calling thread's stack that holds the byte at `address`, inside the hooked
// call under way.
FrameMarks frame_marks(uintptr_t address);

}  // namespace diogenes::agent
