// The program's memory, where it may not be there: what a call is given by address, and the driver has not
// read yet.
#pragma once
#include <cstdint>

namespace diogenes::agent {

// Through the kernel. False: not all of it could be read.
bool copy_if_there(void* to, const void* from, uint64_t bytes);
using CopyIfThere = decltype(&copy_if_there);  // another way (guards.h)

}  // namespace diogenes::agent
