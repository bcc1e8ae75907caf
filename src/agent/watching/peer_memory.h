// Memory of processes that is read or written by their id: process_vm_readv, process_vm_writev, and files
// /proc/PID/mem. Two things are seen to: the access is recorded (PeerAccessRecord), and it gets what it would
// get without us, although the other process's agent may have closed pages there (page guards). The kernel
// refuses those to process_vm_readv and not to /proc/PID/mem, so what the guards kept back is copied again by
// that way. All of it in stages that guard; nothing here allocates or waits.
//
// In a process that is guarded, files are seen however they are used, since its system calls are dispatched:
// what it does to its own memory by them is a touch, as by any system call. In one that is not, libc's functions
// are seen alone, and neither stdio nor system calls of its own. Nor are files that another process has opened,
// ptrace, and RDMA. Source: process_vm_readv(2), proc(5).
#pragma once
#include <sys/uio.h>

#include <atomic>
#include <cstdint>

#include "agent/watching/guard/guard.h"
#include "base/range.h"
#include "trace/fact_records.h"

namespace diogenes::agent {

// A call of process_vm_readv or process_vm_writev, as the program made it: any pointer may be bad.
struct PeerCopy {
  Touching access;
  int process;
  const iovec* here;
  unsigned long here_count;
  const iovec* there;
  unsigned long there_count;
};

// The call came back with `result`. Out: what the program is to get. errno is changed only where that is
// something else, to `errno_before`.
ssize_t finish_peer_copy(const PeerCopy& copy, ssize_t result, int errno_before);

// The program has opened a file of this name, of which it is known that it can be read.
void note_opened(const char* path, int file);

// This process or one that it was forked from has opened a /proc/PID/mem: from then on each file that is read
// is looked at, so that copies of its descriptor count, too.
extern std::atomic<bool> peer_file_opened;

// The program moved so many bytes from or to a file; `at`: where in it, -1: before its position.
void note_transferred(int file, int64_t at, ssize_t bytes, Touching access);

// A guarded thread is about to make these system calls: of Action::open, and of Action::transfer.
void note_opening(long number, const uint64_t (&arguments)[6]);
// Out: of this process's own memory, which is not recorded here; Access::none: it is another's, or no memory.
Access note_transfer(long number, const uint64_t (&arguments)[6], AddressRange& own);

// Lets the agents of other processes see which pages of this one are guarded: where the list of guards lies
// goes to the file guards-HOST-PID in the stage's folder. Once, when guards are started.
void publish_guards();

}  // namespace diogenes::agent
