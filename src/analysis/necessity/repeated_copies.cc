#include "analysis/necessity/repeated_copies.h"

namespace diogenes::necessity {

RepeatedCopies::RepeatedCopies(const Process& process, const AccessHistory& history) : history_(history) {
  for (const Thread& thread : process.threads) {
    threads_[thread.ordinal] = &thread;
    for (const Evidence& each : thread.evidence)
      if (each.duplicate != Duplicate::none) are_first_.insert(key(each.first));
  }
}

const Evidence* RepeatedCopies::evidence(OperationId id) const {
  auto found = threads_.find(id.thread);
  if (found == threads_.end() || id.sequence >= found->second->evidence.size()) return nullptr;
  return &found->second->evidence[id.sequence];
}

bool RepeatedCopies::source_is_unchanged(const Event& event, OperationId first) const {
  for (const Access& access : event.accesses) {
    auto found = access.writes ? downloads_.end() : downloads_.find(access.memory);
    if (found == downloads_.end()) continue;
    for (const First& each : found->second)
      if (key(each.operation) == key(first) && each.source == access.range) return true;
  }
  return false;
}

void RepeatedCopies::work(const Event& event, const Point& point, bool downloads) {
  const Evidence* known = evidence(event.operation);
  const Clock& certain = point.known->certain;
  if (known && downloads && known->duplicate == Duplicate::verified) {
    if (!source_is_unchanged(event, known->first)) refuted_.push_back({event.operation, Duplicate::none});
  } else if (known && (known->duplicate == Duplicate::verified || known->duplicate == Duplicate::elsewhere)) {
    auto first = uploads_.find(key(known->first));
    bool ordered = first != uploads_.end() && (first->second.stream == event.stream ||
                                               certain.covers(first->second.stream, first->second.tick));
    if (!ordered) refuted_.push_back({event.operation, Duplicate::unverified});
  }
  for (const Access& access : event.accesses) {
    if (!access.writes) continue;
    if (!access.memory.valid()) {
      downloads_.clear();
    } else if (auto found = downloads_.find(access.memory); found != downloads_.end()) {
      std::erase_if(found->second, [&](const First& each) { return each.source.overlaps(access.range); });
      if (found->second.empty()) downloads_.erase(found);
    }
  }
  if (!are_first_.contains(key(event.operation))) return;
  First first{event.operation, {}, event.stream, point.tick};
  if (!downloads) uploads_[key(event.operation)] = first;
  for (const Access& access : event.accesses) {
    if (!downloads || access.writes || access.on_host || !access.memory.valid()) continue;
    // A kernel that still runs may write there behind the copy.
    if (!history_.writes_are_before(certain, access.memory, event.stream)) continue;
    first.source = access.range;
    downloads_[access.memory].push_back(first);
  }
}

}  // namespace diogenes::necessity
