// What a process's corrector counted, for the launcher to read: the file `corrections`, a CorrectionsHeader, then one
// CorrectionCounts for each site of the plan, in its order. All little-endian.
#pragma once
#include "trace/corrector_services.h"

namespace diogenes {

inline constexpr char kCorrectionsMagic[8] = {'D', 'I', 'O', 'C', 'O', 'R', 'R', '7'};
struct CorrectionsHeader {
  char magic[8];
  uint64_t sites;
  uint64_t awaited;    // touches that had to wait
  int64_t awaited_ns;  // for how long, all together
  uint64_t failed;     // deferrals whose work failed, or whose mark never came
  uint64_t ordered;    // pieces of work that begin behind a mark of another stream
  int64_t looked_ns;   // for how long the bytes of copies were looked at, and brought into pinned memory
  // In corrected calls, with `looked_ns`, and in faults, without what they waited for the GPU.
  int64_t correcting_ns;
  // In our hooks, at calls of the plan that were made: as far as no wait hid it.
  int64_t passing_ns;
  // From the first call at a site of the plan to exit(), before the driver ends: CLOCK_MONOTONIC. 0: there was none, or it is
  // not known.
  int64_t begun_ns, ended_ns;
};
struct CorrectionCounts {
  uint64_t key;
  uint64_t calls, deferred;
  uint64_t touched;         // of the deferred: somebody had to wait for it after all
  uint64_t used;            // of the deferred: used, though nothing was to need them; the rest wait as before
  uint64_t other_content;   // of the deferred: its bytes were not there, and not one value
  uint64_t undeferred[16];  // by Undeferred
};
static_assert(static_cast<int>(Undeferred::count) <= 16);

}  // namespace diogenes
