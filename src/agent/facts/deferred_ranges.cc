// The part of DirtyRanges that is used where waits are corrected.
#include "agent/facts/dirty_ranges.h"
#include "trace/format.h"

namespace diogenes::agent::facts {

namespace {

Undeferred why_not(const HostRange& host) {
  switch (host.refusal) {
    case WatchRefusal::none:
      return host.way == Way::pages ? Undeferred::none
                                    : Undeferred::small;  // watchpoints tell of a touch afterwards
    case WatchRefusal::unknown_memory:
    case WatchRefusal::page_tables:
      return Undeferred::unknown_memory;
    case WatchRefusal::stack:
    case WatchRefusal::small:
      return Undeferred::small;
    default:
      return Undeferred::unguarded;
  }
}

}  // namespace

Undeferred DirtyRanges::defer(Deferral deferral) {
  for (int i = 0; i < count_; ++i)
    if (const Undeferred why = why_not(dirty_[i].host); why != Undeferred::none) return why;
  for (int i = count_; i-- > 0;) {
    Dirty& dirty = dirty_[i];
    if (dirty.guard != kNoGuard && agent::collect(dirty.guard).by != TouchBy::nobody) {
      // Who touched it waited for what was deferred then.
      const bool covered = dirty.deferral != 0;
      lower(dirty);
      if (covered) {
        remove(i);
        continue;
      }
    }
    if (dirty.deferral != 0) continue;
    if (dirty.guard != kNoGuard) {
      defer_guard(dirty.guard, deferral);
    } else {
      if (is_down(dirty)) --down_;
      dirty.guard = raise_guard(dirty.watched, dirty.host.protection,
                                {dirty.host.way, dirty.host.frame, dirty.host.own_pages, 0, deferral});
      if (dirty.guard == kNoGuard) {
        if (is_down(dirty)) ++down_;
        return Undeferred::unguarded;
      }
    }
    dirty.deferral = deferral;
  }
  return Undeferred::none;
}

void DirtyRanges::forget_deferred(Deferral last) {
  for (int i = count_; i-- > 0;)
    if (dirty_[i].deferral != 0 && dirty_[i].deferral <= last) remove(i);
}

void DirtyRanges::forget_stream(uint32_t stream) {
  for (int i = count_; i-- > 0;)
    if (stream == kNoStream || dirty_[i].host.stream == stream) remove(i);
}

}  // namespace diogenes::agent::facts
