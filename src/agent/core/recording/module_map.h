// The module map: which file lies where, now and before. Module + offset is what stacks record.
// Updated inside the dynamic linker's notification, under the agent's stack lock; looked up under the same
// lock.
#pragma once
#include <cstdint>

#include "agent/core/lock.h"
#include "trace/format.h"

namespace diogenes::agent {

// Serialises changes of the module map and of the table of stacks. Signal handlers only try.
Lock& stack_lock();

// Reads the dynamic linker's list again: new files get the next ModuleIndex, unloaded ones are retired.
// Appends to the `modules` file if the process folder is open; the first update after it is opened writes
// all.
void update_modules();

// The loaded module that holds the address, or null. Under stack_lock().
const ModuleRecord* find_module(uintptr_t address, uint32_t* index);

// The module that stacks name by this index. Under stack_lock().
const ModuleRecord* module_at(uint64_t index);

// Changes whenever a module is loaded or unloaded: interned addresses of an older generation are looked up
// anew.
uint32_t module_generation();

// A forked child writes its own folder: all modules again.
void forget_written_modules();

}  // namespace diogenes::agent
