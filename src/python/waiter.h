// For whom PyTorch's backward threads work: the main thread, while it waits in `backward()`. In: the calling
// thread's name, and the main thread's frames, which stand still meanwhile. Out: those frames. It is told
// only where it is sure: the calling thread is one of the autograd engine's (PyTorch 2.6 and later name
// theirs), and the main thread's innermost function is the one that starts the engine.
#pragma once
#include "python/chain.h"

namespace diogenes::python {

// The calling thread's state was checked: it may be the main thread's.
void note_state(uintptr_t state);

// The main thread's frames, if it waits for the calling thread; else null. Valid until the calling thread
// asks again. Reads through the kernel: the main thread may go on at any time.
const PythonReading* frames_of_waiter(const Interpreter& interpreter);

}  // namespace diogenes::python
