// Signals while the terminal is the explorer's. Those that ask for something are handed to the loop through a pipe; at
// those of a crash the terminal is given back at once, by the modes and the bytes that are noted here.
#pragma once
#include <termios.h>

#include <string>

#include "base/result.h"

namespace diogenes::launcher {

// `restore`: what the terminal `fd` has to be sent. Out: where the numbers of signals can be read, a byte each; it
// does not block.
Result<int> watch_signals(int fd, const termios& modes, const std::string& restore);

// The handlers of before again.
void unwatch_signals();

// The terminal as it was before, by what a signal handler may do.
void restore_terminal();

// Stops this process as Ctrl-Z would, and returns when it goes on.
void stop_here();

}  // namespace diogenes::launcher
