// Touches of memory whose wait was deferred (trace/corrector_services.h): they wait here, before the guard falls. Nothing of the
// agent's is held meanwhile, and the GPU needs nothing of this process's to go on. And of memory under idle guards.
#include <sys/mman.h>

#include <algorithm>

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

bool open_idle(AddressRange page) {
  constexpr uint64_t kFirst = 4 * kPageSize;
  GuardList near = pages_closed_over(page);
  if (near.count != 1 || !guard_at(*near.begin())->idle) return false;
  Guard& guard = *guard_at(*near.begin());
  const AddressRange pages = guard.range.pages();
  AddressRange opened = guard.opened.empty() ? page : guard.opened;
  const uint64_t more = std::max(kFirst, opened.size());
  if (page.begin >= opened.begin) opened.end = std::max(opened.end, std::min(page.begin + more, pages.end));
  if (page.begin < opened.begin)
    opened.begin = std::max(pages.begin, page.end > more ? page.end - more : pages.begin);
  if (opened.size() > pages.size() / 2 || live_over(opened).count != 1 ||
      kernel_mprotect(opened.begin, opened.size(), PROT_READ | PROT_WRITE) != 0)
    return false;
  guard.opened = opened;
  openings.fetch_add(1, std::memory_order_seq_cst);
  return true;
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
