// What it costs that a thread sleeps until another one wakes it, by how long it sleeps. A processor that has had nothing
// to do for longer takes longer to come back; on a virtual machine it steps up where the host takes the processor away.
// In: what was measured on the machine that the program ran on (trace/session.h, SleepCost). Nanoseconds.
#pragma once
#include <vector>

#include "trace/session.h"

namespace diogenes::replay {

class SleepCosts {
 public:
  SleepCosts() = default;  // not measured: all are 0
  explicit SleepCosts(std::vector<SleepCost> measured);

  bool known() const { return !measured_.empty(); }
  // From waking it until it goes on. Between the lengths that were measured on a straight line, and level beyond them.
  int64_t wakes_after(int64_t slept) const { return at(slept, &SleepCost::wakes_after); }
  // What that takes of who wakes it.
  int64_t waker_pays(int64_t slept) const { return at(slept, &SleepCost::waker_pays); }

 private:
  int64_t at(int64_t slept, int64_t SleepCost::*cost) const;

  std::vector<SleepCost> measured_;  // by length
};

}  // namespace diogenes::replay
