#include "analysis/findings/site_instances.h"

#include <algorithm>

namespace diogenes {

void SiteInstances::add(const DriverFunction* function, const Operation& operation) {
  const bool candidate = is_candidate(operation);
  const bool transfer = function && function->role == Role::transfer && candidate;
  const bool idle = is_idle_unnecessary(function, operation), wait = is_program_wait(operation);
  const bool needless = wait && is_unnecessary(operation);
  transfers += transfer;
  calls += candidate;
  idle_unnecessary += idle;
  if (operation.outside && (idle || needless)) ++outside[number(ProblemKind::unnecessary_synchronization)];
  if (auto kind = own_kind(function, operation)) {
    ++of_kind[number(*kind)];
    outside[number(*kind)] += operation.outside;
  } else if (transfer) {
    transfers_left_out += operation.left_out;
  }
  if (!wait) return;
  ++waits;
  unnecessary += needless;
  movable += candidate && is_movable(operation.reasons) && operation.after.count >= 0;
  if (auto kind = less_kind(operation)) ++of_kind[number(*kind)];
  moved += is_moved(operation);
  waited += operation.waited;
  if (is_moved(operation)) moves += std::min(operation.after, operation.waited);
  unresolved += (operation.reasons & kUnresolved) != 0;
  left_out += is_left_out(operation.reasons);
}

}  // namespace diogenes
