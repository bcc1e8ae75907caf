#include "agent/watching/peer_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "agent/core/recording/process_folder.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/core/thread_state.h"
#include "agent/watching/guard/guard_table.h"
#include "agent/watching/guard/system_calls/kernel.h"
#include "agent/watching/guard/system_calls/syscall_memory.h"
#include "agent/watching/guard/threads/threads.h"
#include "base/units.h"

namespace diogenes::agent {

namespace {

// The agent's own work in a call of the program's.
struct Inside {
  KeepErrno keep;
  PassThrough pass;
  Undispatched undispatched;
};

long copy_directly(Touching access, int process, void* here, uintptr_t there, size_t bytes) {
  const iovec near{here, bytes}, far{reinterpret_cast<void*>(there), bytes};
  const long call = access == Touching::writes ? SYS_process_vm_writev : SYS_process_vm_readv;
  return raw_syscall(call, process, &near, 1, &far, 1, 0);
}

bool read_exactly(int process, void* to, uintptr_t from, size_t bytes) {
  return copy_directly(Touching::reads, process, to, from, bytes) == static_cast<long>(bytes);
}

void record(Touching access, int process, uint64_t begin, uint64_t bytes) {
  if (!stage_uses_guards()) return;
  PeerAccessRecord record{};
  record.type = RecordType::peer_access;
  record.access = access;
  record.process = process;
  record.begin = begin;
  record.bytes = bytes;
  record.at_ns = monotonic_now().count;
  const ProcessFile* own = process_file();
  // In a signal handler, or in a child that was made unseen and has its parent's files.
  if (is_appending() || (own && own->pid != raw_syscall(SYS_getpid)))
    count_drop(Drop::records_full);
  else
    append(record);
}

// One iovec after the other, of an array that may not be there.
struct Pieces {
  int self;
  const iovec* next;
  unsigned long left;
  iovec now{nullptr, 0};

  bool more() {
    for (; now.iov_len == 0; ++next, --left)
      if (left == 0 || !read_exactly(self, &now, reinterpret_cast<uintptr_t>(next), sizeof now)) return false;
    return true;
  }
  void pass(size_t bytes) {
    now.iov_base = static_cast<char*>(now.iov_base) + bytes;
    now.iov_len -= bytes;
  }
};

void name_guards_file(char (&path)[640], int process) {
  char host[64];
  host_name(host);
  snprintf(path, sizeof path, "%s/guards-%s-%d", plan().folder, host, process);
}

// Where the guarded pages of another process end that hold this address, as its agent's list of guards says; 0: none of its
// does. The list may change meanwhile.
uintptr_t end_of_guard(int process, const GuardIndexPlace& list, uintptr_t address) {
  uint32_t count = 0;
  GuardEntry entry{};
  if (!read_exactly(process, &count, list.count, sizeof count)) return 0;
  for (uint32_t i = 0; i < std::min(count, kMaximumGuards); ++i) {
    if (!read_exactly(process, &entry, list.entries + i * sizeof entry, sizeof entry)) return 0;
    if (entry.begin <= address && address < entry.end) return entry.end;
  }
  return 0;
}

// The next bytes that the kernel did not copy, if guards kept them back: they do not close memory to this file. Guards come and
// go meanwhile.
size_t copy_past_guards(Touching access, int process, const iovec& here, uintptr_t there) {
  GuardIndexPlace list{};
  char path[640];
  name_guards_file(path, process);
  const long file = raw_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;  // it has no agent of this run that guards
  raw_syscall(SYS_read, file, &list, sizeof list);
  raw_syscall(SYS_close, file);
  snprintf(path, sizeof path, "/proc/%d/mem", process);
  long copied = 0;
  for (int turn = 0; copied <= 0 && turn < 4; ++turn) {
    copied = copy_directly(access, process, here.iov_base, there, here.iov_len);
    const uintptr_t end = copied > 0 ? 0 : end_of_guard(process, list, there);
    if (end == 0) continue;
    const long memory = raw_syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    copied = raw_syscall(access == Touching::writes ? SYS_pwrite64 : SYS_pread64, memory, here.iov_base,
                         std::min(here.iov_len, end - there), there);
    raw_syscall(SYS_close, memory);
  }
  return copied > 0 ? static_cast<size_t>(copied) : 0;
}

// The name of a process's memory, perhaps: /proc/PID/mem, or mem in a folder that was opened before.
bool names_memory(const char* path, size_t length) {
  return length >= 3 && memcmp(path + length - 3, "mem", 3) == 0 && (length == 3 || path[length - 4] == '/');
}
// False: the driver opens it.
bool record_memory_file() {
  if (thread_state.public_depth > 0) return false;
  record(Touching::unknown, PeerAccessRecord::kEveryProcess, 0, 0);
  return true;
}

constexpr int kFilesLookedAt = 1024;  // the usual limit of a process

}  // namespace

ssize_t finish_peer_copy(const PeerCopy& copy, ssize_t result, int errno_before) {
  if (!stage_uses_guards() || (result < 0 && errno != EFAULT)) return result;
  size_t done = 0;
  const size_t by_kernel = result < 0 ? 0 : static_cast<size_t>(result);
  {
    Inside inside;
    const int self = static_cast<int>(raw_syscall(SYS_getpid));
    Pieces here{self, copy.here, copy.here_count}, there{self, copy.there, copy.there_count};
    uintptr_t begin = 0, end = 0;
    while (here.more() && there.more()) {
      const auto at = reinterpret_cast<uintptr_t>(there.now.iov_base);
      size_t bytes = std::min(here.now.iov_len, there.now.iov_len);
      bytes = done < by_kernel ? std::min(bytes, by_kernel - done)
                               : copy_past_guards(copy.access, copy.process, {here.now.iov_base, bytes}, at);
      if (bytes == 0) break;
      if (at != end && end != begin) record(copy.access, copy.process, begin, end - begin);
      if (at != end) begin = at;
      end = at + bytes;
      here.pass(bytes), there.pass(bytes), done += bytes;
    }
    if (end != begin) record(copy.access, copy.process, begin, end - begin);
  }
  if (done <= by_kernel) return result;
  if (result < 0) errno = errno_before;
  return static_cast<ssize_t>(done);
}

void note_opened(const char* path) {
  if (!stage_uses_guards()) return;
  constexpr char kDevices[] = "/dev/infiniband/uverbs";
  const bool device = strncmp(path, kDevices, sizeof kDevices - 1) == 0;
  if (!device && !names_memory(path, strlen(path))) return;
  Inside inside;
  if (device)
    record(Touching::unknown, static_cast<int>(raw_syscall(SYS_getpid)), 0, 0);
  else
    record_memory_file();
}

bool note_opening(long number, const uint64_t (&arguments)[6]) {
  const uint64_t path = arguments[number == SYS_open ? 0 : 1];
  bool whole = false;
  const uint64_t length = text_bytes(path, diogenes_copy, whole);  // with its zero byte
  char end[5] = {};
  const uint64_t bytes = std::min<uint64_t>(length, sizeof end);
  if (!whole || !diogenes_copy(end, reinterpret_cast<const char*>(path) + length - bytes, bytes))
    return false;
  return names_memory(end, bytes - 1) && record_memory_file();
}

void publish_guards() {
  // Files that were opened before by what is not looked at.
  for (int opened = 0; opened < kFilesLookedAt; ++opened) {
    char name[32], file_path[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", opened);
    const ssize_t length = readlink(name, file_path, sizeof file_path);
    if (length > 6 && memcmp(file_path, "/proc/", 6) == 0 &&
        names_memory(file_path, static_cast<size_t>(length)))
      record(Touching::unknown, PeerAccessRecord::kEveryProcess, 0, 0);
  }
  const GuardIndexPlace place = guard_index_place();
  char path[640];
  name_guards_file(path, getpid());
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  if (write(file, &place, sizeof place) != sizeof place) unlink(path);
  close(file);
}

}  // namespace diogenes::agent
