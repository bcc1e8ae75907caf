// Does a program wait for its terminal? In: the process tree below a process, and which device the terminal is. Out:
// what its threads stand in, as /proc tells it. Nothing in the program is touched.
// The launcher hands input over where the program waits for it: what it does not ask for stays the shell's.
#pragma once
#include <sys/types.h>

#include <cstdint>

#include "base/units.h"

namespace diogenes::launcher {

struct TerminalWait {
  enum class Kind : uint8_t {
    none,
    limited,  // it asks for input, and goes on without it after a time
    blocked,  // until there is input
  };
  Kind kind = Kind::none;
  bool main_thread = false;  // `blocked`: the main thread of a process does
  bool known = true;         // false: at least one thread could not be looked at
  Nanoseconds cpu;           // processor time of all these processes so far
  uint64_t turn = 0;         // `blocked`: another number when it waits again, after it had something to do
};

// `root`: a process; those that descend from it are looked at too. `terminal`: the device number of the program's end.
TerminalWait terminal_wait(pid_t root, dev_t terminal);

}  // namespace diogenes::launcher
