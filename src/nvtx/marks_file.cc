#include "nvtx/marks_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/mapped_file.h"
#include "nvtx/process_id.h"

namespace diogenes::nvtx {
namespace {

constexpr size_t kPartBytes = 64 << 10;
constexpr uint64_t kMarksInPart = kPartBytes / sizeof(NvtxMark);
constexpr uint64_t kMostParts = 1024;  // 4 million marks

struct File {
  int32_t pid;
  NvtxHeader* header;  // null: the file could not be made
  char path[704];
  std::atomic<uint64_t> next;  // mark
  std::atomic<NvtxMark*> parts[kMostParts];
};

char folder[576];
std::atomic<File*> file{nullptr};

void make_file(File& made, const char* host) {
  for (int i = 0; i < 1000 && !made.header; ++i) {
    snprintf(made.path, sizeof made.path, "%s/%s%s-%d.%d", folder, kNvtxFilePrefix, host, made.pid, i);
    if (access(made.path, F_OK) == 0) continue;
    made.header = static_cast<NvtxHeader*>(map_part_of_file(made.path, O_CREAT | O_EXCL, 0, kNvtxMarksAt));
    if (!made.header && access(made.path, F_OK) != 0) return;
  }
}

// This process's; null: there is no memory for it. After a fork, the parent's file is found, and replaced.
File* own_file() {
  // acquire: what the file was made with; pairs with the release below.
  File* found = file.load(std::memory_order_acquire);
  const int32_t pid = process_id();
  if (found && found->pid == pid) return found;
  void* memory = mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* made = static_cast<File*>(memory);
  made->pid = pid;
  char host[64] = "host";
  gethostname(host, sizeof host - 1);
  host[sizeof host - 1] = 0;
  for (char* c = host; *c; ++c)
    if (*c == '/') *c = '_';
  make_file(*made, host);
  if (made->header) {
    made->header->pid = pid;
    memcpy(made->header->host, host, sizeof host);
    made->header->created_ns = now_ns();
    memcpy(made->header->magic, kNvtxMagic, sizeof kNvtxMagic);
  }
  if (file.compare_exchange_strong(found, made, std::memory_order_acq_rel, std::memory_order_acquire))
    return made;
  // Another thread was first.
  if (made->header) {
    munmap(made->header, kNvtxMarksAt);
    unlink(made->path);
  }
  munmap(made, sizeof *made);
  return found;
}

NvtxMark* part_of(File& own, uint64_t number) {
  NvtxMark* part = own.parts[number].load(std::memory_order_acquire);
  if (part) return part;
  auto* made =
      static_cast<NvtxMark*>(map_part_of_file(own.path, 0, kNvtxMarksAt + number * kPartBytes, kPartBytes));
  if (!made) return nullptr;
  if (own.parts[number].compare_exchange_strong(part, made, std::memory_order_acq_rel,
                                                std::memory_order_acquire))
    return made;
  munmap(made, kPartBytes);
  return part;
}

// The slot of the hash: found, or taken for it. Null: all are taken by others.
NvtxName* slot_of(NvtxHeader& header, uint64_t hash, bool& is_new) {
  for (uint64_t i = 0; i < kMostNvtxNames; ++i) {
    NvtxName& name = header.names[(hash + i) % kMostNvtxNames];
    uint64_t there = __atomic_load_n(&name.hash, __ATOMIC_RELAXED);
    is_new = there == 0 &&
             __atomic_compare_exchange_n(&name.hash, &there, hash, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (is_new || there == hash) return &name;
  }
  return nullptr;
}

}  // namespace

bool set_folder(const char* plan) {
  const char* slash = strrchr(plan, '/');
  if (!slash || static_cast<size_t>(slash - plan) >= sizeof folder) return false;
  memcpy(folder, plan, static_cast<size_t>(slash - plan));
  return true;
}

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// `at_ns` 0: now, once there is room for it.
static void write_mark(int64_t at_ns, int32_t change) {
  File* own = own_file();
  if (!own || !own->header) return;
  // relaxed: the number is all that is shared.
  const uint64_t number = own->next.fetch_add(1, std::memory_order_relaxed);
  NvtxMark* part = number < kMostParts * kMarksInPart ? part_of(*own, number / kMarksInPart) : nullptr;
  if (!part) return count_lost();
  NvtxMark& mark = part[number % kMarksInPart];
  mark.change = change;
  // release: a reader that sees the time sees the rest.
  __atomic_store_n(&mark.at_ns, at_ns ? at_ns : now_ns(), __ATOMIC_RELEASE);
}

void write_begin() { write_mark(0, 1); }
void write_end(int64_t at_ns) { write_mark(at_ns, -1); }

void count_lost() {
  File* own = own_file();
  if (own && own->header) __atomic_fetch_add(&own->header->lost, 1, __ATOMIC_RELAXED);
}

void write_name(uint64_t hash, const Name* name, bool entered) {
  File* own = own_file();
  if (!own || !own->header) return;
  bool is_new = false;
  NvtxName* slot = slot_of(*own->header, hash, is_new);
  if (!slot) {
    __atomic_store_n(&own->header->more_names, 1, __ATOMIC_RELAXED);
    return;
  }
  if (is_new && name)
    memcpy(slot->text, name->text, name->bytes < sizeof slot->text ? name->bytes : sizeof slot->text - 1);
  if (entered && __atomic_load_n(&slot->entered, __ATOMIC_RELAXED) == 0)
    __atomic_store_n(&slot->entered, 1, __ATOMIC_RELAXED);
}

}  // namespace diogenes::nvtx
