// Where the thread states are, for who reads their frames from outside of the process (trace/python_sample_records.h). Each thread
// writes its own, whenever it has another one.
#pragma once
#include "python/chain.h"

namespace diogenes::python {

void set_table_map_part(void* (*map_part)(const char* name, uint64_t offset, size_t bytes, void* where));

// The calling thread's state was found. Not in a signal's handler.
void publish(const Interpreter& interpreter, uint32_t version, uintptr_t state);

// In a forked child.
void forget_published();

}  // namespace diogenes::python
