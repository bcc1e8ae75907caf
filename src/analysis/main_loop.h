// The program's main loop: the same chain of calls, over and over. In: the tracing run. Out: how often it ran, so that a
// gain can be said for each iteration. It is the innermost loop that holds most of the time spent in the driver, in the
// thread that spends most there; a program without one, or with several of like weight, has none.
#pragma once
#include <cstdint>
#include <optional>

#include "analysis/run.h"

namespace diogenes {

struct MainLoop {
  uint64_t iterations = 0;
  uint64_t calls = 0;  // of the driver in an iteration, as most of them are
};

std::optional<MainLoop> main_loop(const Run& tracing);

}  // namespace diogenes
