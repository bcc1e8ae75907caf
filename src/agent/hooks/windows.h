// Recording in windows (core/windows.h): between them the thunk passes calls straight through. Each thread changes over at its
// own next call of the driver. No thread of the agent's is needed for that: the first call behind a window ends what was begun
// for it. A call that began in a window is recorded, however late it returns.
#pragma once
#include <cstdint>

#include "agent/core/windows.h"

namespace diogenes::agent {

bool in_window();  // there are windows, and the calling thread is about to call the driver
void begin_windows();  // all is set up: where there are windows, calls between them pass straight through from now on
void forget_windows();  // in a forked child

// Between windows, too: what is learned of it is needed in them.
bool is_followed_always(uint16_t function);

inline bool all_is_recorded_now() { return !control_page || in_window(); }

}  // namespace diogenes::agent
