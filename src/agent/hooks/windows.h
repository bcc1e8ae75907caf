// Recording in windows (core/windows.h): between them hooks pass straight through. Each thread changes over at its own next call of
// the driver. No thread of the agent's is needed for that: the first call behind a window ends what was begun for it. A call that
// began in a window is recorded, however late it returns.
#pragma once
#include <cstdint>

#include "agent/core/windows.h"

namespace diogenes::agent {

bool in_window();       // there are windows, and the calling thread is about to call the driver
void forget_windows();  // in a forked child

// Between windows, too: what is learned of it is needed in them.
bool is_followed_always(uint16_t function);

inline bool is_recorded_now(uint16_t function) {
  return !control_page || in_window() || is_followed_always(function);
}

}  // namespace diogenes::agent
