// What becomes of values behind their first touch: followed by a library of its own (src/values), where it is preloaded and
// the plan names places.
#pragma once
#include "trace/value_source.h"

namespace diogenes::agent {

void find_value_source();        // once, at the start: is it there?
uint32_t registers_of_values();  // debug registers of each thread that are not ours

// The rest as trace/value_source.h says.
void follow_value(const TouchedValue& value, ucontext_t* context);
bool take_value_trap(const siginfo_t* info, ucontext_t* context);
void value_to_system_call(AddressRange memory, ucontext_t* context);
void interrupt_values(ucontext_t* context);
void finish_values();
void forget_values();

}  // namespace diogenes::agent
