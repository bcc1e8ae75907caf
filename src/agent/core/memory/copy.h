// The program's memory, where it may not be there: what a call is given by address, and the driver has not
// read yet.
#pragma once
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

namespace diogenes::agent {

// Through the kernel. False: not all of it could be read.
inline bool copy_if_there(void* to, const void* from, uint64_t bytes) {
  iovec here{to, bytes}, there{const_cast<void*>(from), bytes};
  return syscall(SYS_process_vm_readv, getpid(), &here, 1, &there, 1, 0) == static_cast<long>(bytes);
}
using CopyIfThere = decltype(&copy_if_there);  // another way (guards.h)

}  // namespace diogenes::agent
