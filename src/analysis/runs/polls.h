// Loops that ask again and again whether a stream or an event is done: each is a wait. In: a thread's operations in stage 2. Out:
// queries of one site in a row of which the last alone succeeded, with no other call and hardly any time in between. A program
// that computes between two queries does not wait there; one that asked at once many times before has lost its processor.
#pragma once
#include "analysis/runs/run.h"

namespace diogenes {

struct Poll {
  uint32_t first = 0, last = 0;  // positions in the thread
};

// In their order.
std::vector<Poll> polls_of(const std::vector<Operation>& operations, const SiteTable& sites);

}  // namespace diogenes
