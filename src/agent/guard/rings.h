// io_uring: rings through which the kernel uses the program's memory whenever it likes, without a system call
// that could be seen. One that is made while guards are there is met in dispatch.cc.
#pragma once

namespace diogenes::agent {

// Is there one already? True also where that cannot be told.
bool rings_exist();

}  // namespace diogenes::agent
