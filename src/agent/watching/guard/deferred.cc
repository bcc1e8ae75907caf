// Touches of memory whose wait was deferred (trace/corrector_services.h): they wait here, before the guard falls. Nothing of the
// agent's is held meanwhile, and the GPU needs nothing of this process's to go on.
#include "agent/watching/corrected_waits.h"
#include "agent/watching/guard/guard_table.h"
#include "agent/watching/guard/threads/threads.h"

namespace diogenes::agent {

Deferral deferred_over(AddressRange pages, bool reading) {
  if (!stage_corrects()) return 0;
  Deferral latest = 0;
  for (uint32_t id : pages_closed_over(pages)) {
    const Guard& guard = *guard_at(id);
    const bool concerned = !reading || guard.protection == Protection::no_access;
    if (concerned && guard.deferral > latest && !corrector->done(guard.deferral)) latest = guard.deferral;
  }
  return latest;
}

void tell_of_use(const Guard& guard) {
  const TouchBy by = guard.touch.by;
  if (by == TouchBy::program || by == TouchBy::system_call) corrector->note_use(guard.deferral);
}

// Nothing of the agent's is held while it waits.
Section::Section(Where where, AddressRange awaited) : where_(where) {
  for (;;) {
    hold();
    const Deferral latest = deferred_over(awaited, false);
    if (latest == 0) return;
    let_go();
    guard_thread.awaited_ns += corrector->await(latest);
  }
}

void await_deferred(AddressRange pages, bool reading) {
  while (stage_corrects()) {
    Deferral latest = 0;
    {
      Section section(Section::outside);
      latest = deferred_over(pages, reading);
    }
    if (latest == 0) return;
    guard_thread.awaited_ns += corrector->await(latest);
  }
}

}  // namespace diogenes::agent
