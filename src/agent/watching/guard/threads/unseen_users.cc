#include "agent/watching/guard/threads/unseen_users.h"

#include <fcntl.h>

#include <cstdlib>
#include <cstring>

#include "agent/watching/guard/system_calls/kernel.h"
#include "agent/watching/guard/threads/own_folders.h"
#include "ffm/peer_copies.h"

namespace diogenes::agent {

namespace {

bool more_than_one(const char* name) {
  const char* value = getenv(name);
  return value && atoi(value) > 1;
}

// As it was when the guards were started: the environment is not safe to read at any time.
constinit bool in_job = false;

bool in_job_of_several() {
  const bool managed = getenv("PMIX_RANK") || getenv("PMI_RANK");
  return more_than_one("OMPI_COMM_WORLD_SIZE") || more_than_one("MV2_COMM_WORLD_SIZE") ||
         more_than_one("PMI_SIZE") || (managed && more_than_one("SLURM_NTASKS"));
}

// These were looked at: the settings hold for them. Others may have ways of their own.
bool obeys_settings() { return getenv("OMPI_MCA_orte_launch") != nullptr; }  // Open MPI up to 4

bool starts(const char* text, long length, const char* prefix) {
  const auto size = static_cast<long>(strlen(prefix));
  return length >= size && memcmp(text, prefix, static_cast<size_t>(size)) == 0;
}

bool moves_memory(const char* path, long length) {
  if (starts(path, length, "anon_inode:[io_uring]")) return true;
  if (!in_job) return false;
  for (const char* device : {"/dev/infiniband/", "/dev/knem", "/dev/xpmem", "/dev/hfi1", "/dev/cxi"})
    if (starts(path, length, device)) return true;
  return false;
}

}  // namespace

bool peers_may_read() {
  in_job = in_job_of_several();
  if (!in_job) return false;
  if (!obeys_settings()) return true;
  for (const PeerCopySetting& setting : kNoPeerCopies) {
    const char* value = getenv(setting.name);
    if (!value || strcmp(value, setting.value) != 0) return true;
  }
  return false;
}

bool more_files_may() { return in_job; }

bool files_may_use_memory() {
  long folder = raw_syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return true;
  bool none = for_each_file([&](uint32_t file) {
    char name[16], path[64];
    char* digit = name + sizeof name;
    *--digit = 0;
    do *--digit = static_cast<char>('0' + file % 10);
    while ((file /= 10) != 0);
    long length = raw_syscall(SYS_readlinkat, folder, digit, path, sizeof path);
    return !moves_memory(path, length);
  });
  raw_syscall(SYS_close, folder);
  return !none;
}

}  // namespace diogenes::agent
