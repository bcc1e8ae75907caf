// What order.cc keeps of the calling thread. Part of the library's one block of thread-local storage.
#pragma once
#include <cstdint>

namespace diogenes::agent {

struct Knows;  // order.cc

struct OrderThread {
  uint32_t number = 0;      // in this process, from 1, never used again; 0: not numbered yet
  uint32_t generation = 0;  // of the process folder that the rest belongs to
  uint32_t learned = 0;     // how often its knowledge grew by an acquire
  uint32_t holds = 0;       // buckets locked; > 0 in a handler: it interrupted such a section
  bool awaits_futex = false;
  uint64_t futex = 0;  // awaits_futex: it went to sleep here; what it heard is recorded at its next record
  int64_t futex_since = 0;  // CLOCK_MONOTONIC
  bool owes_start = false;  // its start is recorded as soon as it has a file
  uint32_t start_file = 0;  // owes_start: of its maker
  int64_t start_ns = 0;
  uint32_t file = 0;         // with `knows`: of its thread file
  uint32_t source = 0;       // with `knows`: Knowledge's; kNoSource: it had no news of its own yet
  uint32_t source_base = 0;  // news of the source's threads before
  Knows* knows = nullptr;    // null: it never told or heard anything
};
extern __attribute__((tls_model("initial-exec"))) thread_local constinit OrderThread order_thread;

}  // namespace diogenes::agent
