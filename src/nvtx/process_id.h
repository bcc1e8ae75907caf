// This process's id, without a system call: it is kept in a page that the kernel empties in a forked child. Asked several
// times in each call of NVTX (0.1 us each time, by getpid()).
#pragma once
#include <cstdint>

namespace diogenes::nvtx {

void keep_process_id();  // in the library's constructor; without it, or where the kernel cannot, getpid() is called
int32_t process_id();

}  // namespace diogenes::nvtx
