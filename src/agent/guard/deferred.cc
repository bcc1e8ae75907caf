// Touches of memory whose wait was deferred (trace/corrector.h): they wait here, before the guard falls. Nothing of the
// agent's is held meanwhile, and the GPU needs nothing of this process's to go on.
#include "agent/corrector.h"
#include "agent/guard/table.h"

namespace diogenes::agent {

namespace {

void await_all(AddressRange pages, bool reading, Section::Where where) {
  if (!stage_corrects()) return;
  for (;;) {
    Deferral latest = 0;
    {
      Section section(where);
      for (uint32_t id : pages_closed_over(pages)) {
        const Guard& guard = *guard_at(id);
        const bool concerned = !reading || guard.protection == Protection::no_access;
        if (concerned && guard.deferral > latest && !corrector->done(guard.deferral)) latest = guard.deferral;
      }
    }
    if (latest == 0) return;
    corrector->await(latest);
  }
}

}  // namespace

void await_deferred(AddressRange pages, bool reading) { await_all(pages, reading, Section::outside); }

void await_deferred_in_handler(AddressRange pages) { await_all(pages, false, Section::in_handler); }

}  // namespace diogenes::agent
