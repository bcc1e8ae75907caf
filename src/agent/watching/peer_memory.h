// Memory of processes that is read or written by their id. Of process_vm_readv and process_vm_writev two things are seen to: the
// access is recorded (PeerAccessRecord), and it gets what it would get without us, although the other process's agent may have
// closed pages there (page guards). The kernel refuses those to process_vm_readv and not to /proc/PID/mem, so what the guards
// kept back is copied again by that way. Of a file /proc/PID/mem of the program's own, only its opening is recorded: from then
// on nobody's memory counts as watched. All of it in stages that guard; nothing here allocates or waits.
//
// In a process that is guarded, the opening is seen however it is made, since its system calls are dispatched; in one that is
// not, libc's functions are seen alone, and neither stdio nor system calls of its own. Nor are ptrace and RDMA. Source:
// process_vm_readv(2), proc(5).
#pragma once
#include <sys/uio.h>

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
void note_opened(const char* path);
// A guarded thread is about to make a system call of Action::open. Out: of such a file.
bool note_opening(long number, const uint64_t (&arguments)[6]);

// Lets the agents of other processes see which pages of this one are guarded: where the list of guards lies
// goes to the file guards-HOST-PID in the stage's folder. Once, when guards are started.
void publish_guards();

}  // namespace diogenes::agent
