// The driver's own locks concern nobody but the driver, and some of its calls take twenty of them. So its calls of the lock
// functions go to libc and not through interpose/locks.cc, which would let them pass.
#pragma once
#include <cstdint>

#include "agent/core/recording/elf_image.h"

namespace diogenes::agent {

// Where the library's table of addresses has an interposed lock function, libc's is put in its place. The dynamic linker has
// filled the table in. Other threads may be in the library: both functions do the same for it.
void bind_locks_of(const LoadedImage& library);

// What the interposed function at `ours` stands in front of; 0: there is none there (interpose/locks.cc).
uintptr_t libcs_lock_function(uintptr_t ours);

}  // namespace diogenes::agent
