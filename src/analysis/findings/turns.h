// Turns of a loop around a line that waits: `for row in rows: if scores[row].max() > best: ...`, in Python. Each turn gives the
// GPU a few kernels and asks for a small result of its own; done at once for all rows they are a few kernels, and one
// result. Then not only the waits go, but all the CPU's time from the second turn on, and the kernels of these turns (the larger
// ones that come in their place are not reckoned with).
// In: the calls of a thread, where the line waits, and what is known of their stacks. Out: the turns that look like this.
// Whether a turn uses what the one before found nobody has seen.
//
// Such a loop is run many times, with calls made elsewhere in between; from one wait to the next all calls are made below the
// function that has the line, called from the same line. (That may be a loop in the function, or one that calls it.) A turn with
// more kernels is likely a step of the whole computation, and one that sends data depends on the CPU.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/runs/run.h"

namespace diogenes {

// Is `call` made below the function whose line makes the wait (made_in_function_of)?
using InFunctionOf = std::function<bool(SiteIndex call, SiteIndex wait)>;

struct Turns {
  struct Turn {
    uint32_t begin, end;  // positions in the thread: behind a wait of the line, to the next, which is in it
  };
  std::vector<Turn> all;  // in CPU order; without the first of each loop
  uint64_t loops = 0;     // how often the loop was run
};

// `waits`: positions in the thread of the line's waits, in order.
Turns turns_of(const std::vector<Operation>& operations, const SiteTable& sites,
               const std::vector<uint32_t>& waits, const InFunctionOf& in_function_of);

}  // namespace diogenes
