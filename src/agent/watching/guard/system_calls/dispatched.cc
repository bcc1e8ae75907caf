#include "agent/watching/guard/system_calls/dispatched.h"

#include "agent/core/stacks/stack.h"
#include "agent/watching/guard/faults/bystanders.h"
#include "agent/watching/guard/sinks.h"

namespace diogenes::agent {

void use_memory(Dispatched& call, AddressRange range, Access access) {
  add_range(call.slot, range);  // first, so that a guard that is raised now sees it or is seen
  if (access == Access::read) value_source->system_call(range, call.context);
  if (!may_be_guarded(range)) return;
  bool touched = false, concerned = false;
  auto concerns = [&](const Guard& guard) {
    if (guard.by_watchpoints && !guard.range.overlaps(range)) return false;
    return guard.protection == Protection::no_access || access != Access::read;
  };
  {
    Section section(Section::in_handler);
    for (uint32_t id : live_over(range.pages())) {
      const Guard& guard = *guard_at(id);
      concerned |= concerns(guard);
      touched |= concerns(guard) && guard.range.overlaps(range);
    }
  }
  if (!concerned) return;
  Touch touch{TouchBy::system_call, access, {}, range.begin, 0};
  const Nanoseconds came = monotonic_now();
  if (touched) touch.stack = capture_interrupted_stack(call.context);
  if (touched) await_bystanders();
  touch.at = monotonic_now();
  touch.held = touch.at - came;
  Section section(Section::in_handler, range.pages());
  static uint32_t touched_ids[kMaximumGuards], beside_ids[kMaximumGuards];
  uint32_t touched_count = 0, beside_count = 0;
  for (uint32_t id : live_over(range.pages())) {
    const Guard& guard = *guard_at(id);
    if (!concerns(guard)) continue;
    if (guard.range.overlaps(range))
      touched_ids[touched_count++] = id;
    else
      beside_ids[beside_count++] = id;
  }
  mark_touched_and_open({touched_ids, touched_count}, touch);
  // The page is open from now on: what the guard would have seen there is lost.
  touch.by = TouchBy::exposed;
  touch.stack = 0;
  mark_touched_and_open({beside_ids, beside_count}, touch);
}

void give_up_everything() {
  // A raise that did not see what was said has ended when the table is free.
  { Section barrier(Section::in_handler); }
  open_every_guard(TouchBy::given_up, Section::in_handler);
}

void give_up_for_good() {
  refuse_for_good();
  give_up_everything();
}

void hold_everything_off(Dispatched& call) {
  add_range(call.slot, {0, ~uintptr_t{0} & ~(kPageSize - 1)});
  give_up_everything();
}

void let_go(Dispatched& call) {
  value_source->interrupted(call.context);
  {
    Section section(Section::in_handler);
    unwatch_this_thread(call.context);
  }
  give_up_everything();
}

}  // namespace diogenes::agent
