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
std::atomic<bool> mapping{false}, refused{false};
thread_local uintptr_t published __attribute__((tls_model("initial-exec"))) = 0;  // the last

// Null: there is none yet, or `refused` says so.
PythonThreadRecord* open_table() {
  if (PythonThreadRecord* known = table.load(std::memory_order_acquire)) return known;
  if (mapping.exchange(true)) return nullptr;
  constexpr size_t kBytes = kMostPythonThreads * sizeof(PythonThreadRecord);
  void* made = map_table ? map_table(kPythonThreadsFile, 0, kBytes, nullptr) : nullptr;
  refused.store(!made);
  table.store(static_cast<PythonThreadRecord*>(made), std::memory_order_release);
  return table.load(std::memory_order_relaxed);
}

}  // namespace

void set_table_map_part(void* (*map_part)(const char* name, uint64_t offset, size_t bytes, void* where)) {
  map_table = map_part;
}

void publish(const Interpreter& interpreter, uint32_t version, uintptr_t state) {
  if (published == state) return;
  PythonThreadRecord* const records = open_table();
  if (!records && !refused.load()) return;  // another thread makes it just now
  published = state;
  const uint32_t at = records ? used.fetch_add(1, std::memory_order_relaxed) : kMostPythonThreads;
  if (at >= kMostPythonThreads) return;
  records[at].state = state;
  records[at].runtime = interpreter.runtime;
  records[at].code_type = interpreter.code_type;
  records[at].version = version;
  // release: the rest is there before. Pairs with the reader's.
  __atomic_store_n(&records[at].tid, static_cast<uint32_t>(syscall(SYS_gettid)), __ATOMIC_RELEASE);
}

void forget_published() {
  published = 0;
  table.store(nullptr, std::memory_order_relaxed);
  used.store(0, std::memory_order_relaxed);
  refused.store(false, std::memory_order_relaxed);
  mapping.store(false, std::memory_order_relaxed);
}

}  // namespace diogenes::python
