// Has the stack frame that some memory lies in ended? Its return address is kept at one place for as long as
// it lives, and so are those of its callers; one that reads differently says that it has returned, or was
// left by an exception. One that still reads the same says nothing.
#pragma once
#include <cstdint>

namespace diogenes::agent {

inline constexpr int kFrameMarks = 3;  // the frame and its nearest callers

struct FrameMarks {
  uint32_t count = 0;  // 0: not on a stack that could be walked
  uintptr_t places[kFrameMarks];
  uintptr_t addresses[kFrameMarks];
};

}  // namespace diogenes::agent
