// The processes that descend from one, to end all of them at a time limit.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace diogenes::launcher {

struct ProcessIdentity {
  pid_t pid = 0;
  uint64_t started = 0;  // clock ticks since boot: a pid that was given out again is another process
};

// `root` and its descendants, root first. Processes whose parent has died are not found.
std::vector<ProcessIdentity> process_tree(pid_t root);

// Sends `signal` to each that still is the same process; returns how many there were.
int signal_all(const std::vector<ProcessIdentity>& processes, int signal);

}  // namespace diogenes::launcher
