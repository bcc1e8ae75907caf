// What is kept of the calling thread. Part of the library's one block of thread-local storage.
#pragma once
#include <cstdint>

namespace diogenes::agent {

struct OrderThread {
  uint32_t number = 0;      // in this process, from 1, never used again; 0: not numbered yet
  uint32_t generation = 0;  // of the process folder that the rest belongs to
  uint32_t learned = 0;     // how often it heard of others, or may have
  uint32_t told = 0;        // version() at its last release that was recorded
  uint32_t holds = 0;       // buckets locked; > 0 in a handler: it interrupted such a section
  bool awaits_futex = false;
  uint64_t futex = 0;  // awaits_futex: it went to sleep here; what it heard is recorded at its next record
  int64_t futex_since = 0;  // CLOCK_MONOTONIC
  bool owes_start = false;  // its start is recorded as soon as it has a file
  uint32_t start_file = 0;  // owes_start: of its maker
  int64_t start_ns = 0;
  bool has_file = false;
  uint32_t file = 0;  // has_file: its number
};
extern __attribute__((tls_model("initial-exec"))) thread_local constinit OrderThread order_thread;

}  // namespace diogenes::agent
