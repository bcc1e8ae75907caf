// Calls that reach the memory of other processes, and those that open files, of which a few are such memory (peer_memory.h).
#undef _FORTIFY_SOURCE  // the functions themselves are meant
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/hooks/interpose/next.h"
#include "agent/watching/peer_memory.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

using namespace diogenes::agent;
using diogenes::Touching;

// While the next function is being looked up, an allocator may read files.
template <typename Function, typename... Arguments>
auto forward(Next<Function>& next, long number, Arguments... arguments) {
  auto* function = next.get();
  using Result = decltype(function(arguments...));
  return function ? function(arguments...) : static_cast<Result>(syscall(number, arguments...));
}

inline int opened(const char* path, int file) {
  if (file >= 0) note_opened(path);
  return file;
}

}  // namespace

#define NEXT(name, ...)                        \
  static Next<__VA_ARGS__> next_##name(#name); \
  static __attribute__((constructor)) void look_up_##name() { next_##name.get(); }

// A mode that the program did not give is not looked at.
#define OPENS(name, number, parameters, ...)                                             \
  NEXT(name, int parameters)                                                             \
  EXPORTED int name parameters {                                                         \
    va_list arguments;                                                                   \
    va_start(arguments, flags);                                                          \
    const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0; \
    va_end(arguments);                                                                   \
    return opened(path, forward(next_##name, number, __VA_ARGS__, mode));                \
  }
OPENS(open, SYS_open, (const char* path, int flags, ...), path, flags)
OPENS(open64, SYS_open, (const char* path, int flags, ...), path, flags)
OPENS(openat, SYS_openat, (int folder, const char* path, int flags, ...), folder, path, flags)
OPENS(openat64, SYS_openat, (int folder, const char* path, int flags, ...), folder, path, flags)

#define COPIES(name, number, access)                                                                    \
  NEXT(name, ssize_t(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long))   \
  EXPORTED ssize_t name(pid_t process, const iovec* here, unsigned long here_count, const iovec* there, \
                        unsigned long there_count, unsigned long flags) noexcept {                      \
    const int before = errno;                                                                           \
    const ssize_t result =                                                                              \
        forward(next_##name, number, process, here, here_count, there, there_count, flags);             \
    return finish_peer_copy({Touching::access, process, here, here_count, there, there_count}, result,  \
                            before);                                                                    \
  }
COPIES(process_vm_readv, SYS_process_vm_readv, reads)
COPIES(process_vm_writev, SYS_process_vm_writev, writes)
