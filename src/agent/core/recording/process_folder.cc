#include "agent/core/recording/process_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/core/lock.h"
#include "agent/core/running_stage.h"
#include "base/mapped_file.h"
#include "base/units.h"

namespace diogenes::agent {

namespace {

Lock folder_lock;
char folder[640];
std::atomic<ProcessFile*> process{nullptr};
std::atomic<bool> failed{false};
std::atomic<uint32_t> generation{1};
uint64_t unopened_drops[kDropCauses];  // counted while there was no process file
const ProcessFile* parents = nullptr;  // of a forked child: what it was told of the driver holds here, too

int rank_of_this_process() {
  for (const char* name :
       {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "MV2_COMM_WORLD_RANK"})
    if (const char* value = getenv(name); value && *value) return atoi(value);
  return -1;
}

bool make_folder(int rank, const char* host) {
  char rank_part[24] = "";
  if (rank >= 0) snprintf(rank_part, sizeof rank_part, "rank%d-", rank);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    char suffix[16] = "";
    if (attempt > 0) snprintf(suffix, sizeof suffix, ".%d", attempt);
    snprintf(folder, sizeof folder, "%s/%s%s-%d%s", plan().folder, rank_part, host, getpid(), suffix);
    if (mkdir(folder, 0777) == 0) return true;
    if (errno != EEXIST) return false;
  }
  return false;
}

void describe(ProcessFile& file, int rank, const char* host) {
  memcpy(file.magic, kTraceMagic, sizeof kTraceMagic);
  file.version = kTraceVersion;
  file.stage = plan().plan->stage;
  file.pid = getpid();
  file.parent = getppid();
  file.rank = rank;
  file.started_ns = monotonic_now().count;
  snprintf(file.host, sizeof file.host, "%s", host);
  ssize_t length = readlink("/proc/self/exe", file.executable, sizeof file.executable - 1);
  file.executable[length > 0 ? length : 0] = 0;
  file.hook_count = plan().plan->hook_count;
  if (!parents) return;
  memcpy(file.driver_path, parents->driver_path, sizeof file.driver_path);
  memcpy(file.driver_build_id, parents->driver_build_id, sizeof file.driver_build_id);
  file.driver_build_id_length = parents->driver_build_id_length;
  file.driver_base = parents->driver_base;
  file.driver_version = parents->driver_version;
  file.capability_major = parents->capability_major;
  file.capability_minor = parents->capability_minor;
  file.multiprocessors = parents->multiprocessors;
  memcpy(file.device_name, parents->device_name, sizeof file.device_name);
  memcpy(file.hook_state, parents->hook_state, sizeof file.hook_state);
}

}  // namespace

void host_name(char (&name)[64]) {
  strcpy(name, "host");
  gethostname(name, sizeof name - 1);
  name[sizeof name - 1] = 0;
  for (char* c = name; *c; ++c)
    if (*c == '/') *c = '_';
}

bool open_process_folder() {
  // acquire pairs with the release below: whoever sees the pointer sees the file described.
  if (process.load(std::memory_order_acquire)) return true;
  if (!plan().plan || failed.load(std::memory_order_relaxed)) return false;
  LockGuard guard(folder_lock);
  if (process.load(std::memory_order_relaxed)) return true;
  if (failed.load(std::memory_order_relaxed)) return false;
  char host[64];
  host_name(host);
  int rank = rank_of_this_process();
  void* memory = make_folder(rank, host)
                     ? map_file_part("process", 0, (sizeof(ProcessFile) + 4095) & ~size_t{4095})
                     : nullptr;
  if (!memory) {
    failed.store(true, std::memory_order_relaxed);
    return false;
  }
  auto* file = static_cast<ProcessFile*>(memory);
  describe(*file, rank, host);
  for (int i = 0; i < kDropCauses; ++i) file->drops[i] = unopened_drops[i];
  process.store(file, std::memory_order_release);
  return true;
}

const char* process_folder() { return process.load(std::memory_order_acquire) ? folder : nullptr; }
ProcessFile* process_file() { return process.load(std::memory_order_acquire); }
uint32_t folder_generation() { return generation.load(std::memory_order_relaxed); }

void forget_process_folder() {
  if (const ProcessFile* own = process_file()) parents = own;
  process.store(nullptr, std::memory_order_relaxed);
  failed.store(false, std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_relaxed);
  memset(unopened_drops, 0, sizeof unopened_drops);
}

void* map_file_part(const char* name, uint64_t offset, size_t bytes, void* where) {
  char path[704];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  void* memory = map_part_of_file(path, O_CREAT, offset, bytes, where);
  if (!memory) count_drop(Drop::file_failed);
  return memory;
}

void count_drop(Drop cause) {
  ProcessFile* file = process_file();
  uint64_t* counter = &(file ? file->drops : unopened_drops)[static_cast<int>(cause)];
  __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

}  // namespace diogenes::agent
