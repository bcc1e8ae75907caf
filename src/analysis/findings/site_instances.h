// What the calls of one site are: how many wait, how many of these are needless, how many are of each kind of problem. In: the
// operations of stage 2, with what stage 3 said of each. Out: the figures by which problems.cc decides what it opens.
#pragma once
#include "analysis/findings/problem_kinds.h"

namespace diogenes {

constexpr size_t number(ProblemKind kind) { return static_cast<size_t>(kind); }

struct SiteInstances {
  uint64_t waits = 0, transfers = 0, unnecessary = 0, movable = 0, unresolved = 0, moved = 0;
  Nanoseconds waited, moves;      // of waits; of those `moved`: how far, and no farther than they wait
  uint64_t idle_unnecessary = 0;  // beside `waits`: needless ones that found all done
  uint64_t left_out = 0, transfers_left_out = 0;  // of waits, of transfers: not looked at
  uint64_t calls = 0;                             // that did not fail
  uint64_t of_kind[kProblemKinds] = {};           // transfers and allocations, and less_kind()
  // Of a kind, outside of the part that the program marks. They gain nothing, so they are no instances of a problem. Needed ones
  // are: they decide with.
  uint64_t outside[kProblemKinds] = {};
  Nanoseconds weight[kProblemKinds] = {};  // the most that mending those could gain; problems.cc adds it up

  // `function`: the operation's, may be null.
  void add(const DriverFunction* function, const Operation& operation);
};

}  // namespace diogenes
