// Which interpreter runs in this process, and what its thread states are found by. In: what loaded files
// export. Out: the one interpreter that was started, its layout, and each thread's state. Two that run, or a
// version that is not known, are said and left alone.
#pragma once
#include "python/chain.h"
#include "trace/python_source.h"

namespace diogenes::python {

// A file was loaded. Not in a signal's handler.
void add_image(const void* image, uintptr_t (*symbol)(const void* image, const char* name));

// What lay here was unloaded: its interpreter is gone. Not in a signal's handler.
void drop_image(uintptr_t begin, uintptr_t end);

// The one that was started, or null. Cheap once there is one.
const Interpreter* running_interpreter(PythonSummary& summary);
// Once more, because another may have been started meanwhile.
void look_for_others(PythonSummary& summary);

// The calling thread's state: found by its key or in the list of all, and checked whenever it is not the one of before. 0: the
// thread has none, or one that cannot be read (counted).
uintptr_t thread_state_here(const Interpreter& interpreter, bool in_signal, PythonReading& scratch,
                            PythonSummary& summary);
// Its frames were not what they should be.
void check_thread_state_again();

}  // namespace diogenes::python
