// Host memory that a piece of work reads or writes, and how it can be watched.
#pragma once
#include "agent/watching/guard/guards.h"
#include "base/range.h"
#include "trace/fact_records.h"

namespace diogenes::agent::facts {

// Pageable and registered memory is guarded by its pages from one on: smaller ranges share theirs with the
// rest of the heap, and are watched by watchpoints.
inline constexpr uint64_t kSmallestPageable = kPageSize;

struct HostRange {
  AddressRange range;
  Protection protection = Protection::no_access;  // read_only: the work only reads it
  WatchMethod method = WatchMethod::pages;
  bool own_pages = false;  // the driver mapped it
  bool whole = false;      // all of it is written, whatever it held
  bool by_kernel = false;  // which may look there again and again, for what the CPU writes
  WatchRefusal refusal = WatchRefusal::none;
  FrameMarks frame;
};

}  // namespace diogenes::agent::facts
