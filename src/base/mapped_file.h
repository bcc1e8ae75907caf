// Part of a file that grows, in memory. By system calls: libc's functions are places where a thread can be cancelled, and who
// records in a signal's handler, or under a lock of the program's, must come to none.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace diogenes {

// A file that grows beyond the limit raises SIGXFSZ in the program.
inline bool within_file_limit(uint64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

namespace mapped_file_detail {

// Room on the disk: a write through memory to a part that has none raises SIGBUS.
inline bool make_room(int file, uint64_t offset, uint64_t bytes) {
  long result = 0;
  do {
    result = syscall(SYS_fallocate, file, 0, offset, bytes);
  } while (result != 0 && errno == EINTR);
  if (result == 0 || (errno != EOPNOTSUPP && errno != ENOSYS)) return result == 0;
  constexpr uint64_t kBlock = 512;
  for (uint64_t at = offset; at < offset + bytes; at += kBlock) {
    const uint64_t last = at + kBlock < offset + bytes ? at + kBlock - 1 : offset + bytes - 1;
    char kept = 0;
    syscall(SYS_pread64, file, &kept, 1, last);
    if (syscall(SYS_pwrite64, file, &kept, 1, last) != 1) return false;
  }
  return true;
}

}  // namespace mapped_file_detail

// `flags`: of open(), beside O_RDWR and O_CLOEXEC. `where`: null, or a reserved place for it. Null: it cannot be made or mapped.
inline void* map_part_of_file(const char* path, int flags, uint64_t offset, size_t bytes,
                              void* where = nullptr) {
  if (!within_file_limit(offset + bytes)) return nullptr;
  const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | flags, 0666));
  if (file < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (mapped_file_detail::make_room(file, offset, bytes))
    memory = mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (where ? MAP_FIXED : 0), file,
                  static_cast<off_t>(offset));
  syscall(SYS_close, file);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace diogenes
