#include "python/thread_table.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "trace/python_sample_records.h"

namespace diogenes::python {
namespace {

void* (*map_table)(const char* name, uint64_t offset, size_t bytes, void* where) = nullptr;
std::atomic<PythonThreadRecord*> table{nullptr};
std::atomic<uint32_t> used{0};
std::atomic<bool> mapping{false};  // somebody makes it, or could not

PythonThreadRecord* open_table() {
  if (PythonThreadRecord* known = table.load(std::memory_order_acquire)) return known;
  if (!map_table || mapping.exchange(true)) return nullptr;
  constexpr size_t kBytes = kMostPythonThreads * sizeof(PythonThreadRecord);
  auto* made = static_cast<PythonThreadRecord*>(map_table(kPythonThreadsFile, 0, kBytes, nullptr));
  table.store(made, std::memory_order_release);
  return made;
}

}  // namespace

void set_table_map_part(void* (*map_part)(const char* name, uint64_t offset, size_t bytes, void* where)) {
  map_table = map_part;
}

void publish(const Interpreter& interpreter, uint32_t version, uintptr_t state) {
  PythonThreadRecord* const records = open_table();
  if (!records) return;
  const auto tid = static_cast<uint32_t>(syscall(SYS_gettid));
  const uint32_t count = used.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count && i < kMostPythonThreads; ++i)
    if (records[i].state == state && records[i].tid == tid) return;
  const uint32_t at = used.fetch_add(1, std::memory_order_relaxed);
  if (at >= kMostPythonThreads) return;
  records[at].state = state;
  records[at].runtime = interpreter.runtime;
  records[at].code_type = interpreter.code_type;
  records[at].version = version;
  // release: the rest is there before. Pairs with the reader's.
  __atomic_store_n(&records[at].tid, tid, __ATOMIC_RELEASE);
}

void forget_published() {
  table.store(nullptr, std::memory_order_relaxed);
  used.store(0, std::memory_order_relaxed);
  mapping.store(false, std::memory_order_relaxed);
}

}  // namespace diogenes::python
