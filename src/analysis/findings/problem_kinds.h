// What one operation of stage 2 is: candidate, needless wait, transfer with a problem. In: the joined
// operation. Where several kinds hold, the first of these is taken: what is not used at all, what is there
// already, what the device can make itself or has, what is slow in the way in which it is done.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/runs/run.h"

namespace diogenes {

enum class ProblemKind : uint8_t {
  unnecessary_synchronization,
  misplaced_synchronization,
  wide_synchronization,      // needed, and waits for work that nobody needs there
  ordering_synchronization,  // needed by GPU work alone, which could wait for itself
  duplicate_transfer,        // the destination still held the bytes
  duplicate_elsewhere,       // the same bytes were sent to another place of the device
  constant_transfer,         // all of it is one value, over and over
  round_trip,                // from the device to the host, and back unchanged
  unused_transfer,           // overwritten or released before anything could use it
  small_transfers,           // many in a row, side by side
  pageable_transfer,         // 'asynchronous', with pageable memory: staged by the CPU, or waiting
  repeated_allocation,       // released, and allocated again in the same size by the same call
  unused_allocation,         // released before anything could use it
};
inline constexpr size_t kProblemKinds = 13;
const char* kind_name(ProblemKind kind);
std::vector<std::string> kind_names();  // of all

constexpr bool is_transfer_kind(ProblemKind kind) {
  return kind >= ProblemKind::duplicate_transfer && kind <= ProblemKind::pageable_transfer;
}
// Of needed waits, of which less would do.
constexpr bool is_less_kind(ProblemKind kind) {
  return kind == ProblemKind::wide_synchronization || kind == ProblemKind::ordering_synchronization;
}
constexpr bool is_allocation_kind(ProblemKind kind) { return kind >= ProblemKind::repeated_allocation; }

// Below this a first use tells nothing: the fault that shows it, and the way out of the hook, take as long.
// Uses that come at once were read at 1.5 us on a GPU's host, and at 5 us and now and then 20 us in a virtual
// machine.
inline constexpr Nanoseconds kShortestMove{10'000};

bool is_candidate(const Operation& operation);
bool is_program_wait(const Operation& operation);
bool is_unnecessary(const Operation& operation);
bool is_moved(const Operation& operation);
std::optional<ProblemKind> less_kind(const Operation& operation);
// A needless explicit synchronization that found all done and returned before it waited. It waits as soon as
// the ones before it do not: who removes them has to remove it as well.
bool is_idle_unnecessary(const DriverFunction* function, const Operation& operation);

// The kind of a transfer's or an allocation's own problem. `function`: its own, may be null.
std::optional<ProblemKind> own_kind(const DriverFunction* function, const Operation& operation);

// Fixed by another call in its place, which only hands work to the GPU: the most that this takes.
struct Replacement {
  bool any = false, work_kept = false;
};
Replacement replacement_of(ProblemKind kind, const Operation& operation);

// Is the call itself gone after the fix for an unnecessary synchronization? Only then its own time is gained.
bool fix_removes_call(const DriverFunction& function, const Operation& operation);

// What a call takes that only hands a copy to the GPU: the median of the run's own ones, 5 us without any.
Nanoseconds asynchronous_call(const Run& tracing, const SiteTable& sites);

}  // namespace diogenes
