#include "analysis/benefit/benefit.h"

#include <algorithm>
#include <iterator>

namespace diogenes {
namespace {

// Own time of removed calls between the wait of changes[i] and the next wait of its thread.
Nanoseconds removed_behind(const std::vector<Change>& changes, size_t i) {
  const Change& change = changes[i];
  Nanoseconds removed{};
  if (change.call_removed && !change.launch_first) removed += change.own;
  removed += change.behind;
  for (size_t k = i + 1; k < changes.size(); ++k) {
    const Change& next = changes[k];
    if (next.thread != change.thread || next.wait != change.wait + 1) break;
    if (next.call_removed) removed += next.before;
    if (next.call_removed && (!next.waits || next.launch_first)) removed += next.own;
    if (next.waits) break;
  }
  return removed;
}

}  // namespace

Nanoseconds expected_benefit(const EventGraph& graph, const std::vector<Change>& changes,
                             std::vector<Nanoseconds>* realised) {
  struct {
    uint32_t thread = 0, wait = 0;
    Nanoseconds time;
  } carried;
  Nanoseconds benefit{};
  if (realised) realised->assign(changes.size(), {});
  for (size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    Nanoseconds gain{};
    if (change.call_removed) gain += change.own + change.before;  // RemoveMemoryTransfer, line 31
    gain += change.behind;
    if (change.wait_change == Change::Wait::removed || change.wait_change == Change::Wait::moved) {
      const auto& waits = graph.threads[change.thread].waits;
      Nanoseconds wait = waits[change.wait].duration;
      if (carried.thread == change.thread && carried.wait == change.wait) wait += carried.time;
      if (change.wait_change == Change::Wait::moved) {
        gain += std::min(wait, change.after);  // MoveSynchronization, line 25, capped
      } else {
        Nanoseconds between = waits[change.wait + 1].cpu_before - waits[change.wait].cpu_before;
        Nanoseconds idle = std::max(between - removed_behind(changes, i), Nanoseconds{});
        Nanoseconds gained = std::min(idle, wait);  // RemoveSynchronization, line 18
        gain += gained;
        carried = {change.thread, change.wait + 1, wait - gained};  // line 19
      }
    }
    benefit += gain;
    if (realised) (*realised)[i] = gain;
  }
  return benefit;
}

std::vector<Change> merged(const std::vector<const std::vector<Change>*>& parts) {
  std::vector<Change> all;
  std::vector<size_t> ends;  // of the runs that are in order
  size_t count = 0;
  for (const auto* part : parts) count += part->size();
  all.reserve(count);
  for (const auto* part : parts) {
    if (part->empty()) continue;
    all.insert(all.end(), part->begin(), part->end());
    ends.push_back(all.size());
  }
  std::vector<Change> next;
  for (next.reserve(ends.size() > 1 ? count : 0); ends.size() > 1; std::swap(all, next)) {
    next.clear();
    std::vector<size_t> merged_ends;
    auto begin = all.cbegin();
    for (size_t i = 0; i < ends.size(); i += 2) {
      const auto middle = all.cbegin() + static_cast<ptrdiff_t>(ends[i]);
      const auto end = i + 1 < ends.size() ? all.cbegin() + static_cast<ptrdiff_t>(ends[i + 1]) : middle;
      std::merge(begin, middle, middle, end, std::back_inserter(next), in_cpu_order);
      merged_ends.push_back(next.size());
      begin = end;
    }
    ends = std::move(merged_ends);
  }
  return all;
}

std::vector<Change> replaced(const std::vector<Change>& before, const std::vector<Change>& changes) {
  std::vector<Change> all;
  all.reserve(before.size() + changes.size());
  std::set_union(changes.begin(), changes.end(), before.begin(), before.end(), std::back_inserter(all),
                 in_cpu_order);
  return all;
}

}  // namespace diogenes
