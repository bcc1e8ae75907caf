// The ways in which a process ends, for those who notice (the destructor, _exit, quick_exit).
#pragma once
#include "trace/format.h"

namespace diogenes::agent {

// Closes the trace; hooks pass straight through from then on. More than once is harmless.
void finish_process(ProcessEnd end);

}  // namespace diogenes::agent
