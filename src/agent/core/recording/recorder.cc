// Appending to thread files. A record's first eight bytes, its type among them, are stored last and at once:
// a reader of a file that was cut off by SIGKILL sees whole records only.
#include "agent/core/recording/recorder.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "agent/core/recording/process_folder.h"
#include "agent/core/running_stage.h"
#include "agent/core/thread_state.h"
#include "base/units.h"

namespace diogenes::agent {

struct ThreadFile {
  uint32_t index;
  uint32_t thread;    // who writes it: its number
  uint32_t tid;       // and kernel thread id
  uint32_t sequence;  // of the next operation
  uint8_t* part;      // the mapped part of the file
  size_t part_bytes, used;
  uint64_t file_bytes;
  bool stopped;   // the disk or the limit ended it
  uint32_t left;  // the generation in which its thread said that it ends; 0: it did not
};

namespace {

constexpr size_t kFirstPart = 64 << 10, kLargestPart = 4 << 20;
ThreadFile files[kMaximumThreads];
std::atomic<uint32_t> thread_count{0}, file_count{0};
std::atomic<uint64_t> recorded_bytes{0};

bool grow(ThreadFile& file) {
  size_t bytes = file.part_bytes == 0             ? kFirstPart
                 : file.part_bytes < kLargestPart ? file.part_bytes * 2
                                                  : kLargestPart;
  if (recorded_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes >
      plan().plan->recorded_bytes_limit) {
    file.stopped = true;
    return false;
  }
  char name[32];
  snprintf(name, sizeof name, "thread-%u", file.index);
  void* memory = map_file_part(name, file.file_bytes, bytes);
  if (!memory) {
    file.stopped = true;
    return false;
  }
  if (file.part) munmap(file.part, file.part_bytes);
  file.part = static_cast<uint8_t*>(memory);
  file.part_bytes = bytes;
  file.used = 0;
  file.file_bytes += bytes;
  return true;
}

void store(ThreadFile& file, const void* record) {
  constexpr size_t kRecord = sizeof(OperationRecord);  // and of FileHeader
  uint8_t* to = file.part + file.used;
  uint64_t first;
  memcpy(&first, record, sizeof first);
  memcpy(to + sizeof first, static_cast<const uint8_t*>(record) + sizeof first, kRecord - sizeof first);
  // release: nothing of the record is stored after its type. Pairs with the reader's check for zero.
  __atomic_store_n(reinterpret_cast<uint64_t*>(to), first, __ATOMIC_RELEASE);
  file.used += kRecord;
}

bool has_room(ThreadFile& file) {
  return !file.stopped && (file.used + sizeof(OperationRecord) <= file.part_bytes || grow(file));
}

// Making one takes longer than many a thread lives. One that is about to end may still record: that its stack is released.
ThreadFile* take_left_file(uint32_t generation) {
  KeepErrno keep;
  for (uint32_t i = 0, count = file_count.load(std::memory_order_acquire); i < count; ++i) {
    uint32_t& left = files[i].left;
    if (__atomic_load_n(&left, __ATOMIC_RELAXED) != generation) continue;  // its thread writes beside it
    if (__atomic_exchange_n(&left, 0, __ATOMIC_ACQ_REL) != generation) continue;
    if (syscall(SYS_tgkill, getpid(), files[i].tid, 0) != 0 && errno == ESRCH) return &files[i];
    __atomic_store_n(&left, generation, __ATOMIC_RELEASE);
  }
  return nullptr;
}

ThreadFile* make_thread_file(ThreadState& state) {
  if (!open_process_folder()) return nullptr;
  uint32_t generation = folder_generation();
  state.file_generation = generation;
  state.file = nullptr;
  state.news = 0;
  const uint32_t number = thread_count.fetch_add(1, std::memory_order_relaxed);
  if (number >= kMaximumThreads) {
    count_drop(Drop::threads_full);
    return nullptr;
  }
  const auto tid = static_cast<uint32_t>(syscall(SYS_gettid));
  ThreadFile* file = take_left_file(generation);
  const bool is_new = !file;
  if (is_new) {
    const uint32_t index = file_count.fetch_add(1, std::memory_order_relaxed);  // below `number`
    file = &files[index];
    *file = {.index = index};
  }
  file->thread = number;
  file->tid = tid;
  file->sequence = 0;
  if (!has_room(*file)) return nullptr;
  const int64_t now = monotonic_now().count;
  if (is_new) {
    FileHeader header{.version = kTraceVersion, .thread = number, .tid = tid, .created_ns = now};
    memcpy(header.magic, kTraceMagic, sizeof kTraceMagic);
    store(*file, &header);
  } else {
    const ThreadRecord begin{.type = RecordType::thread, .thread = number, .tid = tid, .created_ns = now};
    store(*file, &begin);
  }
  __atomic_fetch_add(&process_file()->threads, 1, __ATOMIC_RELAXED);
  return state.file = file;
}

ThreadFile* file_of_this_thread() {
  ThreadState& state = thread_state;
  if (state.file_generation == folder_generation()) return state.file;
  return make_thread_file(state);
}

// While one lives, a signal handler of this thread does not append.
class Appending {
 public:
  Appending() {
    thread_state.appending = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Appending() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    thread_state.appending = false;
  }
  Appending(const Appending&) = delete;
  Appending& operator=(const Appending&) = delete;
};

}  // namespace

void forget_thread_files() {
  thread_count.store(0, std::memory_order_relaxed);
  file_count.store(0, std::memory_order_relaxed);
  recorded_bytes.store(0, std::memory_order_relaxed);
}

bool append_record(const void* record, OperationId* id) {
  Appending appending;
  ThreadFile* file = file_of_this_thread();
  if (!file || !has_room(*file)) {
    count_drop(Drop::records_full);
    return false;
  }
  store(*file, record);
  if (*static_cast<const RecordType*>(record) != RecordType::order) ++thread_state.news;
  if (id) {
    id->thread = static_cast<uint16_t>(file->thread);
    id->sequence = file->sequence++;
  }
  return true;
}

bool is_appending() { return thread_state.appending; }

uint32_t own_thread_file() {
  const ThreadState& state = thread_state;
  return state.file && state.file_generation == folder_generation() ? state.file->thread : 0xffffffff;
}

void leave_thread_file() {
  const ThreadState& state = thread_state;
  if (state.file && state.file_generation == folder_generation())
    __atomic_store_n(&state.file->left, state.file_generation, __ATOMIC_RELEASE);
}

bool next_operation(OperationId& id) {
  ThreadFile* file = file_of_this_thread();
  if (!file || file->stopped) return false;
  id.thread = static_cast<uint16_t>(file->thread);
  id.sequence = file->sequence;
  return true;
}

}  // namespace diogenes::agent
