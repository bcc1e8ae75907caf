// The shell command of --prepare, before each run: its stdin is empty, what it prints goes to our stderr, because stdout is
// the program's.
#pragma once
#include <string>
#include <vector>

namespace diogenes::launcher {

struct Prepared {
  std::string problem;     // "exited with 3"; empty: it went well
  int interrupted_by = 0;  // a signal that reached us meanwhile
};

// `command` empty: there is nothing to do.
Prepared run_prepare_command(const std::string& command, const std::vector<std::string>& environment);

}  // namespace diogenes::launcher
