// Runs a helper program and takes what it prints. For the discovery: the driver is never loaded into the
// launcher.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace diogenes {

struct ChildOutput {
  int status = 0;  // as of waitpid
  bool timed_out = false;
  std::string standard_output;
  std::string last_error_line;  // of its stderr
};

// Without the variables that would bring other code, or other behaviour, into a process that uses CUDA
// (LD_PRELOAD, CUDA_INJECTION64_PATH, CUDA_LAUNCH_BLOCKING). After the timeout it gets SIGTERM, a second
// later SIGKILL.
Result<ChildOutput> run_child(const std::vector<std::string>& command, Nanoseconds timeout);

}  // namespace diogenes
