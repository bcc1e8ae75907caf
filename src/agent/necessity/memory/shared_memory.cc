#include "agent/necessity/memory/shared_memory.h"

#include <algorithm>

#include "agent/recorder.h"

namespace diogenes::agent {

bool SharedMemory::add(AddressRange range, uint32_t sequence, bool own_pages) {
  if (int at = find(range); at >= 0 && shared_[at].range == range) {
    shared_[at].retired = false;
    return true;
  }
  if (count_ == kMaximumShared) return false;
  Shared& shared = shared_[count_++];
  shared = {};
  shared.range = range;
  shared.seen = sequence;
  shared.own_pages = own_pages;
  return true;
}

int SharedMemory::find(AddressRange range) const {
  for (int i = 0; i < count_; ++i)
    if (shared_[i].range.overlaps(range)) return i;  // retired ones, too: they hold a guard
  return -1;
}

bool SharedMemory::note(AddressRange range, Slot stream, Tick tick) {
  bool found = false;
  for (int i = 0; i < count_; ++i) {
    Shared& shared = shared_[i];
    if (!shared.range.overlaps(range) || shared.retired) continue;
    found = true;
    int at = 0;
    while (at < shared.work_count && shared.work[at].stream != stream) ++at;
    if (at == kStreams) {
      note_kernel(stream, tick);  // no room: as if it had written everything
      continue;
    }
    if (at == shared.work_count) shared.work[shared.work_count++] = {stream, {}, 0, 0};
    shared.work[at].ticks.add(tick);
  }
  return found;
}

void SharedMemory::Ticks::add(Tick tick) {
  if (count > 0 && ticks[count - 1] == tick) return;
  if (count == kKept) {
    for (int i = 1; i < kKept; ++i) ticks[i - 1] = ticks[i];
    --count;
  }
  ticks[count++] = tick;
}

Tick SharedMemory::Ticks::latest(Tick up_to) const {
  for (int i = count; i-- > 0;)
    if (ticks[i] <= up_to) return ticks[i];
  return count == kKept ? up_to : 0;
}

bool SharedMemory::covered(Slot stream, Tick known, Tick up_to, bool certain, uint32_t sequence) {
  Kernels& kernels = kernels_[stream];
  if (up_to <= known) return false;
  Tick latest = kernels.ticks.latest(up_to);
  if (latest <= known) return false;
  if (certain) {
    kernels.known = latest;
    kernels.known_at = sequence;
  }
  written_at_ = sequence;
  return true;
}

void SharedMemory::advance(const Clock& certain) {
  for (int i = 0; i < count_; ++i)
    for (int w = 0; w < shared_[i].work_count; ++w) {
      Work& work = shared_[i].work[w];
      work.known = std::max(work.known, work.ticks.latest(certain[work.stream]));
    }
}

void SharedMemory::credit(Shared& shared, const Use& use, uint32_t sequence, int width) {
  for (int i = 0; i < width; ++i)
    if (kernels_[i].known_at > shared.seen)
      instances_->credit_owners(static_cast<Slot>(i), kernels_[i].known, use);
  instances_->credit_doubtful_writers(shared.seen, use, width);
  shared.seen = sequence;
  int kept = 0;
  for (int w = 0; w < shared.work_count; ++w) {
    Work work = shared.work[w];
    if (work.known > work.credited) instances_->credit_owners(work.stream, work.known, use);
    if (work.ticks.newest() > work.known) instances_->credit_doubtful(work.stream, work.known + 1, use);
    work.credited = work.known;
    if (work.ticks.newest() > work.credited) shared.work[kept++] = work;
  }
  shared.work_count = static_cast<uint8_t>(kept);
}

bool SharedMemory::settle(Shared& shared, const Touch& touch, uint32_t sequence, int width) {
  if (touch.by == TouchBy::nobody) return false;
  uint32_t reason = reason_of(touch, Protection::no_access);
  credit(shared, {reason, touch.at.count, touch.address, touch.stack}, sequence, width);
  lower_guard(shared.guard);
  shared.guard = kNoGuard;
  return true;
}

void SharedMemory::collect_touches(uint32_t sequence, int width) {
  uint32_t touches = touch_count();
  if (touches == touches_seen_) return;
  touches_seen_ = touches;
  for (int i = count_; i-- > 0;) {
    if (shared_[i].guard == kNoGuard) continue;
    if (settle(shared_[i], collect(shared_[i].guard), sequence, width) && shared_[i].retired)
      shared_[i] = shared_[--count_];
  }
}

void SharedMemory::retire(uint64_t begin) {
  for (int i = count_; i-- > 0;) {
    if (shared_[i].range.begin != begin) continue;
    shared_[i].retired = true;
    if (shared_[i].guard == kNoGuard) shared_[i] = shared_[--count_];
  }
}

void SharedMemory::guard_covered(const Clock& reach, InstanceIndex instance, uint32_t sequence) {
  for (int i = 0; i < count_; ++i) {
    Shared& shared = shared_[i];
    if (shared.guard != kNoGuard || shared.suspended_by != 0 || shared.retired) continue;
    bool due = written_at_ > shared.seen;
    for (int w = 0; w < shared.work_count && !due; ++w)
      due = shared.work[w].ticks.latest(reach[shared.work[w].stream]) > shared.work[w].credited;
    if (!due) continue;
    shared.guard = raise_guard(shared.range, Protection::no_access, {.own_pages = shared.own_pages});
    if (shared.guard != kNoGuard) continue;
    count_drop(Drop::guards_full);
    instances_->credit(instance, kGuardRefused);
    credit(shared, {.reason = kGuardRefused}, sequence, kMaximumStreams);
  }
}

void SharedMemory::use(AddressRange range, const Use& by_device, uint32_t sequence, int width) {
  for (int i = 0; i < count_; ++i) {
    Shared& shared = shared_[i];
    if (!shared.range.overlaps(range)) continue;
    if (shared.guard != kNoGuard && settle(shared, collect(shared.guard), sequence, width)) continue;
    credit(shared, by_device, sequence, width);
    if (shared.guard != kNoGuard) lower_guard(shared.guard);
    shared.guard = kNoGuard;
  }
}

// Guard down; a touch up to now counts.
void SharedMemory::lower(Shared& shared, uint32_t sequence, int width) {
  if (shared.guard == kNoGuard) return;
  if (settle(shared, collect(shared.guard), sequence, width)) return;
  Touch touch = lower_guard(shared.guard);
  shared.guard = kNoGuard;
  uint32_t reason = reason_of(touch, Protection::no_access);
  if (reason != 0) credit(shared, {reason, touch.at.count, touch.address, touch.stack}, sequence, width);
}

void SharedMemory::suspend(AddressRange range, uint32_t by, uint32_t sequence, int width) {
  for (int i = 0; i < count_; ++i) {
    if (!shared_[i].range.overlaps(range) || shared_[i].suspended_by != 0) continue;
    lower(shared_[i], sequence, width);
    shared_[i].suspended_by = by;
  }
}

void SharedMemory::end_suspension(uint32_t by, bool succeeded, uint32_t sequence, int width) {
  for (int i = count_; i-- > 0;) {
    if (shared_[i].suspended_by != by) continue;
    shared_[i].suspended_by = 0;
    if (succeeded)
      shared_[i] = shared_[--count_];
    else
      credit(shared_[i], {.reason = kExposed}, sequence, width);
  }
}

void SharedMemory::give_up_all(uint32_t sequence, int width) {
  for (int i = count_; i-- > 0;) {
    lower(shared_[i], sequence, width);
    credit(shared_[i], {.reason = kExposed}, sequence, width);
    // It may live on, and then later synchronizations count for it as before.
  }
}

void SharedMemory::reset() {
  for (int i = 0; i < count_; ++i)
    if (shared_[i].guard != kNoGuard) lower_guard(shared_[i].guard);
  count_ = 0;
  written_at_ = 0;
  for (auto& kernels : kernels_) kernels = {};
}

}  // namespace diogenes::agent
