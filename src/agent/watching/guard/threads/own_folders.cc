#include "agent/watching/guard/threads/own_folders.h"

#include <fcntl.h>

#include <cstdlib>

#include "agent/watching/guard/system_calls/kernel.h"

namespace diogenes::agent {

bool visit_numbers(const char* path, bool (*visit)(uint32_t number, void* opaque), void* opaque) {
  long folder = raw_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  struct Name {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char text[1];
  };
  alignas(8) char buffer[2048];
  bool all = true;
  for (long bytes; all && (bytes = raw_syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0;) {
    for (long at = 0; all && at < bytes;) {
      auto* name = reinterpret_cast<Name*>(buffer + at);
      at += name->bytes;
      char* end = nullptr;
      const auto number = static_cast<uint32_t>(strtoul(name->text, &end, 10));
      if (*end == 0) all = visit(number, opaque);
    }
  }
  raw_syscall(SYS_close, folder);
  return all;
}

}  // namespace diogenes::agent
