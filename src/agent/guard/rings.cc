#include "agent/guard/rings.h"

#include <fcntl.h>

#include <cstring>

#include "agent/guard/kernel.h"
#include "agent/guard/own_folders.h"

namespace diogenes::agent {

bool rings_exist() {
  constexpr char kRing[] = "anon_inode:[io_uring]";
  long folder = raw_syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return true;
  bool none = for_each_file([&](uint32_t file) {
    char name[16], target[sizeof kRing];
    char* digit = name + sizeof name;
    *--digit = 0;
    do *--digit = static_cast<char>('0' + file % 10);
    while ((file /= 10) != 0);
    long length = raw_syscall(SYS_readlinkat, folder, digit, target, sizeof target);
    return length != sizeof kRing - 1 || memcmp(target, kRing, sizeof kRing - 1) != 0;
  });
  raw_syscall(SYS_close, folder);
  return !none;
}

}  // namespace diogenes::agent
