#include "agent/watching/guard/threads/task_file.h"

#include <fcntl.h>

#include <cstring>

#include "agent/watching/guard/system_calls/kernel.h"

namespace diogenes::agent {

namespace {

char* put_number(char* at, uint32_t value) {
  char digits[10];
  int count = 0;
  do digits[count++] = static_cast<char>('0' + value % 10);
  while (value /= 10);
  while (count > 0) *at++ = digits[--count];
  return at;
}

}  // namespace

size_t read_task_file(uint32_t thread, const char* name, char* text, size_t room) {
  char path[64] = "/proc/self/task/";
  char* end = put_number(path + strlen(path), thread);
  *end++ = '/';
  strcpy(end, name);
  text[0] = 0;
  long file = raw_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  long bytes = raw_syscall(SYS_read, file, text, room - 1);
  raw_syscall(SYS_close, file);
  if (bytes <= 0) return 0;
  text[bytes] = 0;
  return static_cast<size_t>(bytes);
}

bool read_runs(uint32_t thread, char (&text)[kRunsText]) {
  const size_t bytes = read_task_file(thread, "schedstat", text, sizeof text);
  return bytes > 0 && bytes < sizeof text - 1 && text[0] != '0';
}

}  // namespace diogenes::agent
