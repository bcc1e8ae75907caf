// Calls that reach the memory of other processes, and those that open, read and write files, of which a few
// are such memory (peer_memory.h). For any other file it is one load a call.
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
  if (file >= 0) note_opened(path, file);
  return file;
}

inline ssize_t moved(int file, int64_t at, ssize_t bytes, Touching access) {
  if (peer_file_opened.load(std::memory_order_relaxed)) [[unlikely]]
    note_transferred(file, at, bytes, access);
  return bytes;
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

#define MOVES(name, number, access, at, parameters, ...)                                 \
  NEXT(name, ssize_t parameters)                                                         \
  EXPORTED ssize_t name parameters {                                                     \
    return moved(file, at, forward(next_##name, number, __VA_ARGS__), Touching::access); \
  }
MOVES(read, SYS_read, reads, -1, (int file, void* to, size_t bytes), file, to, bytes)
MOVES(pread, SYS_pread64, reads, at, (int file, void* to, size_t bytes, off_t at), file, to, bytes, at)
MOVES(pread64, SYS_pread64, reads, at, (int file, void* to, size_t bytes, off64_t at), file, to, bytes, at)
MOVES(readv, SYS_readv, reads, -1, (int file, const iovec* to, int count), file, to, count)
MOVES(preadv, SYS_preadv, reads, at, (int file, const iovec* to, int count, off_t at), file, to, count, at)
MOVES(preadv64, SYS_preadv, reads, at, (int file, const iovec* to, int count, off64_t at), file, to, count,
      at)
MOVES(write, SYS_write, writes, -1, (int file, const void* from, size_t bytes), file, from, bytes)
MOVES(pwrite, SYS_pwrite64, writes, at, (int file, const void* from, size_t bytes, off_t at), file, from,
      bytes, at)
MOVES(pwrite64, SYS_pwrite64, writes, at, (int file, const void* from, size_t bytes, off64_t at), file, from,
      bytes, at)
// What programs call instead that were compiled with _FORTIFY_SOURCE.
MOVES(__read_chk, SYS_read, reads, -1, (int file, void* to, size_t bytes, size_t room), file, to, bytes, room)
MOVES(__pread_chk, SYS_pread64, reads, at, (int file, void* to, size_t bytes, off_t at, size_t room), file,
      to, bytes, at, room)
MOVES(__pread64_chk, SYS_pread64, reads, at, (int file, void* to, size_t bytes, off64_t at, size_t room),
      file, to, bytes, at, room)

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
