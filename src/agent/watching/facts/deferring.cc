#include "agent/watching/facts/deferring.h"

#include "agent/core/memory/mappings.h"
#include "agent/core/thread_state.h"
#include "agent/watching/facts/facts_state.h"
#include "agent/watching/guard/guards.h"

namespace diogenes::agent::facts {

uint32_t watch_source(uint64_t begin, uint64_t bytes) {
  const AddressRange pages = AddressRange::of(begin, bytes);
  bool own_pages = false;
  {
    LockGuard guard(state().lock);
    const Allocation* source = state().memory.find(begin);
    own_pages = source && source->kind == MemoryKind::pinned;
  }
  // The driver's pages are nobody else's.
  if (!own_pages && mapping_kind_now(pages) != MappingKind::private_memory) return 0;
  LockGuard guard(state().lock);
  return state().sources.watch(pages, own_pages);
}

bool is_unwritten(uint32_t watch) {
  LockGuard guard(state().lock);
  return state().sources.is_unwritten(watch);
}

void end_watch(uint32_t watch) {
  LockGuard guard(state().lock);
  state().sources.end(watch);
}

bool has_uncovered() {
  if (others_may_look()) return true;
  LockGuard guard(state().lock);
  return state().host_work || state().unknown_host || state().unlisted_host || state().shared > 0 ||
         state().dirty.has_uncovered();
}

void release_deferred(Deferral last) {
  LockGuard guard(state().lock);
  state().dirty.forget_deferred(last);
}

}  // namespace diogenes::agent::facts
