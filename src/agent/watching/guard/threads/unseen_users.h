// Who uses the program's memory without a touch or a system call that could be seen: the kernel through rings
// of io_uring, other processes and network cards in jobs of MPI. A guard would make their accesses fail, or
// miss them.
#pragma once

namespace diogenes::agent {

// This process is one of several of a job, and the others may read its memory (ffm/peer_copies.h). First, and
// once: reads the environment.
bool peers_may_read();

// Among its open files is a ring, or, in such a job, a device that moves memory by itself. True also where
// that cannot be told. A ring that is made while guards are there is met in dispatch.cc.
bool files_may_use_memory();
// Files that are opened later may be such devices: it is worth asking again, now and then.
bool more_files_may();

}  // namespace diogenes::agent
