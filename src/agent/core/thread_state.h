// The agent's one thread-local: what a thread is doing, and where it records. Initial-exec model, so that
// reading it never allocates and is safe in a signal handler.
#pragma once
#include <cerrno>
#include <cstdint>

#include "agent/core/pass_through.h"
#include "base/range.h"
#include "trace/format.h"

namespace diogenes::agent {

struct ThreadFile;

// The context that this thread's last call was made in (facts/context_numbers.h).
struct NumberedContext {
  uint64_t handle = 0;
  uint32_t generation = 0;
  uint16_t number = 0;
  bool page_tables = false;
};

struct ThreadState {
  int32_t pass = 0;          // > 0: inside the agent; hooks pass straight through
  bool awaits = false;       // waits in a hook for what was deferred (proving/)
  int32_t public_depth = 0;  // 1: inside an outermost public call
  int32_t wait_depth = 0;    // 1: inside a wait function
  bool appending = false;    // inside append() (recorder.h)
  bool printed = false;      // the driver printed in the public call under way (interpose/prints.cc)
  bool owes_order = false;   // OrderRecords come before the next record (order/order.h)
  uint8_t flags = 0;         // OperationFlag of the public call under way
  int64_t waited_ns = 0;     // in the public call under way
  uintptr_t call_frame =
      0;  // canonical frame address of the thunk under way: frames below are the agent's or driver's
  AddressRange readable_stack;  // was found to be there (unwind/walker.cc)
  NumberedContext context;
  uint64_t named_stream = 0;  // the stream that its last call named (facts/context_numbers.h)
  ThreadFile* file = nullptr;
  uint32_t news = 0;  // records appended to `file`, other than those of order (order/order_records.h)
  uint32_t ranges = 0, region_at = 0;  // of NVTX: open ones, of which the region is this one; 0: none
  uint32_t file_generation = 0;        // of the process folder that `file` belongs to; a fork makes a new one
};

extern __attribute__((tls_model("initial-exec"))) thread_local constinit ThreadState thread_state;

// errno belongs to the program.
class KeepErrno {
 public:
  KeepErrno() : saved_(errno) {}
  ~KeepErrno() { errno = saved_; }

 private:
  int saved_;
};

}  // namespace diogenes::agent
