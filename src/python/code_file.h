// The functions of Python that stacks name, copied once: a table from fingerprints to places in the file
// `python` of the process's folder (CodeRecord). Nothing is copied twice, nothing is forgotten.
#pragma once
#include "python/chain.h"

namespace diogenes::python {

void set_map_part(void* (*map_part)(const char* name, uint64_t offset, size_t bytes, void* where));

// Where the code of this frame is kept, in 8-byte words of the file; 0: it could not be. By one thread at a
// time.
uint32_t code_index(const Interpreter& interpreter, const PythonReading::Entry& entry);

// A name of a code object, as UTF-8: the string at this offset of it. How many bytes; 0: it cannot be read.
uint32_t copy_name(const Interpreter& interpreter, uintptr_t code, unsigned offset, char* to, uint32_t most);

// In a forked child.
void forget_code();

}  // namespace diogenes::python
