// Whom the guards tell what they see, each given at the start (hooks/agent.cc): they know nobody above them. All are called in
// signal handlers.
#pragma once
#include "agent/watching/guard/guard.h"
#include "trace/value_source.h"

namespace diogenes::agent {

struct GuardSinks {
  void (*write_owed_order)() = [] {};  // another record of the thread comes (order/order.h)
  // The program is about to make these system calls itself, from `site`: a futex call, one that opens a file.
  void (*futex)(uint64_t address, uint64_t operation, uintptr_t site) = [](uint64_t, uint64_t, uintptr_t) {};
  // Out: it is some process's memory, so guarding ends.
  bool (*open)(long number, const uint64_t (&arguments)[6]) = [](long, const uint64_t (&)[6]) {
    return false;
  };
};
inline constinit GuardSinks guard_sinks;

// Who follows what becomes of values (value_follower.h). The first does nothing.
inline constexpr ValueSource kNoValueSource{sizeof(ValueSource),
                                            [](const ValueServices&) { return true; },
                                            [](const TouchedValue&, ucontext_t*) {},
                                            [](const siginfo_t*, ucontext_t*) { return false; },
                                            [](AddressRange, ucontext_t*) {},
                                            [](ucontext_t*) {},
                                            [] {},
                                            [](uint64_t, uint64_t) {},
                                            [] {}};
inline constinit const ValueSource* value_source = &kNoValueSource;
// Debug registers of each thread that are not ours.
inline uint32_t registers_of_values() { return value_source == &kNoValueSource ? 0 : kValueRegisters; }

}  // namespace diogenes::agent
