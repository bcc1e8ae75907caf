// Host functions: code of the program that the driver runs on threads of its own, as part of a stream's work
// (cuLaunchHostFunc, cuStreamAddCallback) or when an object ends (cuUserObjectCreate).
//
// Such a thread is not the program's, so its system calls are not seen and its touches are not told apart.
// While guards may be up, the driver is therefore given a function of ours in place of the program's: it
// makes the thread one of the program's for as long as the program's function runs on it (guards.h,
// enter_program_code). What the program sees does not change: it gets its own function and argument.
//
// In: the arguments of a call, before it and after. Out: the argument registers as the driver shall see them.
// What is not followed ends guarding in this process: host nodes of graphs, callbacks of other kinds, a full table.
#pragma once
#include <cstdint>

#include "agent/core/calls/call.h"

namespace diogenes::agent {

// Of every function that takes a host function there is a hook, where this driver has the function
// at all. Asked before guards start: what is given past us would run unseen.
bool host_functions_are_hooked();

// Before the call; `registers`: the first six arguments, changed where they name a host function.
void wrap_host_function(Call& call, uint64_t* registers);
// After it: whether the function will run is known.
void unwrap_host_function(Call& call);

}  // namespace diogenes::agent
