// What was seen while calls waited, and what follows from it: which internal functions can be the wait
// function. Source: SC'19, 3.1 (the function shared by the stacks of calls known to synchronize). Data and
// arithmetic only.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace diogenes {

// Functions of libcuda on one sampled stack, innermost first, by the image offset of their first byte.
using DriverStack = std::vector<uint64_t>;

struct CallEvidence {
  std::string name;                  // "cuMemcpyDtoH, pageable, 4 KiB"
  std::string error;                 // why it could not be tried, or ""
  bool queue = false;                // the launch queue was filled: its wait is another one
  bool waited = false;               // had not returned when the kernel was released
  double held_s = 0;                 // from the call to the release
  std::vector<DriverStack> samples;  // in the order taken
};

struct WaitCandidate {
  uint64_t offset = 0;
  int agreed = 0;       // waiting calls whose stacks have it
  int samples = 0;      // in all of them
  double position = 0;  // mean distance from the innermost driver frame
};

// The functions on the stack of a call while it waits: those on all samples of the second half of the hold
// (before that it may still work: load a module, copy a first part). Innermost first.
DriverStack waiting_stack(const CallEvidence& call);

int waiting_calls(std::span<const CallEvidence> calls);

// Best first: on the stacks of most waiting calls; then in most samples; then the outermost. Exported
// functions are none. `is_export` says whether an exported function begins at an offset.
std::vector<WaitCandidate> rank_wait_candidates(std::span<const CallEvidence> calls,
                                                const std::function<bool(uint64_t)>& is_export);

// The functions that can be the one in which a full launch queue waits, innermost first: on the waiting stack
// of that call, not exported, not the wait function.
DriverStack queue_candidates(const CallEvidence& call, uint64_t wait_function,
                             const std::function<bool(uint64_t)>& is_export);

}  // namespace diogenes
