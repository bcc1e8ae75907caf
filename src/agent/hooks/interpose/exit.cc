// _exit ends a process without destructors: the trace is closed before it.
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/hooks/process_end.h"

extern "C" [[noreturn]] __attribute__((visibility("default"))) void _exit(int status) {
  diogenes::agent::finish_process(diogenes::ProcessEnd::orderly);
  for (;;) syscall(SYS_exit_group, status);
}

extern "C" [[noreturn]] __attribute__((visibility("default"))) void _Exit(int status) { _exit(status); }
