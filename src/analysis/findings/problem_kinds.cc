#include "analysis/findings/problem_kinds.h"

#include <algorithm>

#include "analysis/benefit/graph.h"
#include "analysis/runs/join.h"

namespace diogenes {

const char* kind_name(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::unnecessary_synchronization:
      return "unnecessary-synchronization";
    case ProblemKind::misplaced_synchronization:
      return "misplaced-synchronization";
    case ProblemKind::wide_synchronization:
      return "wide-synchronization";
    case ProblemKind::ordering_synchronization:
      return "ordering-synchronization";
    case ProblemKind::duplicate_transfer:
      return "duplicate-transfer";
    case ProblemKind::duplicate_elsewhere:
      return "duplicate-transfer-elsewhere";
    case ProblemKind::constant_transfer:
      return "constant-transfer";
    case ProblemKind::round_trip:
      return "round-trip-transfer";
    case ProblemKind::unused_transfer:
      return "unused-transfer";
    case ProblemKind::small_transfers:
      return "small-transfers";
    case ProblemKind::pageable_transfer:
      return "pageable-transfer";
    case ProblemKind::repeated_allocation:
      return "repeated-allocation";
    case ProblemKind::unused_allocation:
      return "unused-allocation";
  }
  return "unknown";
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (size_t kind = 0; kind < kProblemKinds; ++kind)
    names.emplace_back(kind_name(static_cast<ProblemKind>(kind)));
  return names;
}

bool is_candidate(const Operation& operation) {
  return !operation.has(kFailed) && !operation.has(kCapturing) && !operation.has(kDriverThread);
}

bool is_program_wait(const Operation& operation) {
  return is_wait(operation) && !operation.has(kCapturing) && !operation.has(kDriverThread);
}

bool is_unnecessary(const Operation& operation) {
  return is_wait(operation) && is_candidate(operation) && operation.reasons == 0;
}

bool is_idle_unnecessary(const DriverFunction* function, const Operation& operation) {
  return function && function->role == Role::synchronize && !is_wait(operation) && is_candidate(operation) &&
         operation.reasons == 0;
}

bool is_moved(const Operation& operation) {
  return is_wait(operation) && is_candidate(operation) && is_movable(operation.reasons) &&
         operation.after >= kShortestMove;
}

std::optional<ProblemKind> less_kind(const Operation& operation) {
  if (!is_wait(operation) || !is_candidate(operation) || operation.reasons == 0) return std::nullopt;
  if ((operation.conditions & kConditionOneStream) != 0) return ProblemKind::wide_synchronization;
  if ((operation.conditions & kConditionOnlyOrders) != 0) return ProblemKind::ordering_synchronization;
  return std::nullopt;
}

std::optional<ProblemKind> own_kind(const DriverFunction* function, const Operation& operation) {
  if (!is_candidate(operation)) return std::nullopt;
  if (operation.unused != Unused::no)
    return function && function->role == Role::allocate ? ProblemKind::unused_allocation
                                                        : ProblemKind::unused_transfer;
  switch (operation.duplicate) {
    case Duplicate::verified:
      return ProblemKind::duplicate_transfer;
    case Duplicate::returned:
    case Duplicate::returned_held:
      return ProblemKind::round_trip;
    default:
      break;
  }
  if (operation.adjoins && (!is_wait(operation) || operation.reasons == 0))
    return ProblemKind::small_transfers;
  if (operation.constant != Constant::no) return ProblemKind::constant_transfer;
  if (operation.duplicate == Duplicate::elsewhere) return ProblemKind::duplicate_elsewhere;
  // What waits in the call because it is needed there has to wait somewhere with pinned memory, too.
  bool pageable =
      function && function->role == Role::transfer && function->asynchronous && operation.pageable;
  if (pageable && (!is_wait(operation) || operation.reasons == 0)) return ProblemKind::pageable_transfer;
  return std::nullopt;
}

Replacement replacement_of(ProblemKind kind, const Operation& operation) {
  switch (kind) {
    case ProblemKind::duplicate_elsewhere:
    case ProblemKind::constant_transfer:
      return {true, false};
    case ProblemKind::round_trip:
      return {operation.duplicate != Duplicate::returned_held, false};
    case ProblemKind::pageable_transfer:
      return {true, true};
    default:
      return {};
  }
}

Nanoseconds asynchronous_call(const Run& tracing, const SiteTable& sites) {
  constexpr Nanoseconds kAssumed{5'000};
  std::vector<int64_t> times;
  for (const Process& process : tracing.processes)
    for (const Thread& thread : process.threads)
      for (const Operation& operation : thread.operations) {
        if (!is_candidate(operation) || is_wait(operation) || operation.pageable) continue;
        const DriverFunction* function = function_of(sites[operation.site]);
        if (function && function->role == Role::transfer && function->asynchronous)
          times.push_back(operation.own().count);
      }
  if (times.empty()) return kAssumed;
  auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return {std::max<int64_t>(*middle, 0)};
}

bool fix_removes_call(const DriverFunction& function, const Operation& operation) {
  switch (function.role) {
    case Role::synchronize:
      return true;
    // Kept and used again; memory that is not allocated again has to be released all the same.
    case Role::release:
      return operation.reused;
    default:
      return false;
  }
}

}  // namespace diogenes
