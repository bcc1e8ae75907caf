// Touches wait here, before the guard falls. Nothing of the agent's is held meanwhile, and the GPU needs nothing of this
// process's to go on.
#include "agent/proving/deferred_guards.h"

#include "agent/watching/guard/faults/threads_at_rest.h"
#include "agent/watching/guard/guard_table.h"
#include "agent/watching/guard/threads/threads.h"

namespace diogenes::agent {

namespace {

// Of the guards that forbid what is done.
Deferral latest_over(AddressRange pages, bool reading) {
  Deferral latest = 0;
  for (uint32_t id : pages_closed_over(pages)) {
    const Guard& guard = *guard_at(id);
    const bool concerned = !reading || guard.protection == Protection::no_access;
    if (concerned && guard.deferral > latest && !the_corrector.done(guard.deferral)) latest = guard.deferral;
  }
  return latest;
}

void await(Deferral deferral) { guard_thread.awaited_ns += the_corrector.await(deferral); }

// Who deferred what it stands for hears of it, if the program used it.
void tell_of_use(const Guard& guard) {
  const TouchBy by = guard.touch.by;
  if (by == TouchBy::program || by == TouchBy::system_call) the_corrector.note_use(guard.deferral);
}

const DeferredWaits waits{[](AddressRange pages) { return latest_over(pages, false); }, await, tell_of_use,
                          [](Nanoseconds time) { the_corrector.note_guarding(time.count); }};

}  // namespace

void start_deferred_guards() { deferred_waits = &waits; }

bool defer_guard(GuardHandle handle, Deferral deferral, bool tells) {
  uint32_t id;
  Section section(Section::outside);
  Guard* guard = guard_of(handle, id);
  if (!guard || guard->state.load(std::memory_order_relaxed) != Guard::live) return false;
  guard->deferral = deferral, guard->tells = tells;
  // Who steps over it just now has its page open, for others, too: that one meets the closed page instead.
  return !rest_check_under_way() || guard->by_watchpoints || protect_pages(guard->range.pages());
}

void await_deferred(AddressRange pages, bool reading) {
  for (;;) {
    Deferral latest = 0;
    {
      Section section(Section::outside);
      latest = latest_over(pages, reading);
    }
    if (latest == 0) return;
    await(latest);
  }
}

}  // namespace diogenes::agent
