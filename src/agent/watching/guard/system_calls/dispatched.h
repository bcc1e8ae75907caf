// A system call that is dispatched, and what every part of the dispatcher does with one.
#pragma once
#include <ucontext.h>

#include "agent/watching/guard/guard_table.h"
#include "agent/watching/guard/system_calls/undispatched_code.h"
#include "agent/watching/guard/threads/threads.h"

namespace diogenes::agent {

struct Dispatched {
  ucontext_t* context;
  Slot& slot;
  long number;
  uint64_t arguments[6];
  uintptr_t site;
  Stub stub = Stub::clearing;
  bool done = false;  // here; its result is set
};

// The memory is about to be read or written by the kernel.
void use_memory(Dispatched& call, AddressRange range, Access access);

// What made guards impossible was said before this: none is up any more, nor being raised.
void give_up_everything();
// The call lets memory be used unseen, from now on: no guard is raised any more.
void give_up_for_good();

// What the call may touch is not known, nor for how long: it holds all guards off until it is back.
void hold_everything_off(Dispatched& call);

// The thread makes a call that the guards cannot follow (a foreign mask, no stub): it is let go until it can
// be watched again, and no guard is up meanwhile.
void let_go(Dispatched& call);

}  // namespace diogenes::agent
