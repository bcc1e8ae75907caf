// Whether the kernel hands a thread's system calls to us, and which call the thread is in (threads.h).
#include <algorithm>

#include "agent/core/thread_state.h"
#include "agent/watching/guard/guard_table.h"
#include "agent/watching/guard/threads/threads.h"

namespace diogenes::agent {

namespace {

std::atomic<bool> cancels{false};  // note_cancellation

bool hands_over_calls(const Slot& slot) {
  return slot.watched.load(std::memory_order_seq_cst) && !slot.depth.load(std::memory_order_seq_cst) &&
         (!slot.in_lock.load(std::memory_order_seq_cst) || cancels.load(std::memory_order_seq_cst));
}

}  // namespace

// The selector follows all of these, whoever changed which of them last.
void update_selector(Slot& slot) {
  bool hands_over;
  do {
    hands_over = hands_over_calls(slot);
    slot.selector.store(hands_over ? kBlock : kAllow, std::memory_order_seq_cst);
  } while (hands_over_calls(slot) != hands_over);
}

void begin_call(Slot& slot, uintptr_t stack) {
  // Before call_pending: who reads that as set and this as it was before, knows that the thread is still
  // inside the call that it was in then (threads_at_rest.cc).
  slot.calls.fetch_add(1, std::memory_order_seq_cst);
  // A flag that is still set: this call comes from a signal handler that interrupted the pending one, which
  // may start again without being dispatched again. Its ranges stay until the thread is back on its stack.
  slot.before.store(0, std::memory_order_relaxed);
  bool inside = slot.call_pending.load(std::memory_order_relaxed);
  if (inside && stack < slot.call_stack) {
    slot.nested.store(1, std::memory_order_relaxed);
  } else if (!slot.nested.load(std::memory_order_relaxed) ||
             (stack >= slot.call_stack && (slot.call_stack == 0 || stack - slot.call_stack < 64 << 20))) {
    slot.nested.store(0, std::memory_order_relaxed);
    slot.range_count.store(0, std::memory_order_relaxed);
    slot.call_stack = stack;
  }
  // Before the ranges, and before guards are looked for.
  slot.call_pending.store(1, std::memory_order_seq_cst);
}

void add_range(Slot& slot, AddressRange range) {
  if (range.empty()) return;
  uint32_t count = slot.range_count.load(std::memory_order_relaxed);
  if (count < kPendingCallRanges) {
    slot.ranges[count] = range;
    slot.range_count.store(count + 1, std::memory_order_seq_cst);
  } else {
    AddressRange& last = slot.ranges[kPendingCallRanges - 1];
    last = {std::min(last.begin, range.begin), std::max(last.end, range.end)};
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

void end_calls(Slot& slot) {
  slot.before.store(0, std::memory_order_relaxed);
  slot.call_pending.store(0, std::memory_order_relaxed);
  slot.nested.store(0, std::memory_order_relaxed);
  slot.range_count.store(0, std::memory_order_relaxed);
  slot.call_stack = 0;
}

void enter_undispatched(Slot& slot) {
  slot.depth.fetch_add(1, std::memory_order_seq_cst);
  slot.selector.store(kAllow, std::memory_order_seq_cst);
}

void leave_undispatched(Slot& slot) {
  if (slot.depth.fetch_sub(1, std::memory_order_seq_cst) == 1) update_selector(slot);
}

Slot* LockCall::begin(std::initializer_list<AddressRange> objects) {
  Slot* slot = guard_thread.slot;
  if (!slot || !slot->watched.load(std::memory_order_relaxed) || guard_thread.depth > 0 ||
      cancels.load(std::memory_order_relaxed))
    return nullptr;
  begin_call(*slot, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
  // First, so that a guard that is raised now sees it or is seen.
  for (const AddressRange& object : objects) add_range(*slot, object);
  for (const AddressRange& object : objects) {
    if (!may_be_guarded(object)) continue;
    slot->call_pending.store(0, std::memory_order_seq_cst);
    return nullptr;
  }
  slot->in_lock.store(1, std::memory_order_seq_cst);
  update_selector(*slot);
  return slot;
}

void LockCall::end() {
  slot_->in_lock.store(0, std::memory_order_seq_cst);
  slot_->call_pending.store(0, std::memory_order_seq_cst);
  update_selector(*slot_);
}

void leave_lock_call() {
  Slot* slot = guard_thread.slot;
  if (slot && slot->in_lock.exchange(0, std::memory_order_seq_cst)) update_selector(*slot);
}

void note_cancellation() {
  if (cancels.exchange(true, std::memory_order_seq_cst)) return;
  const Threads threads = threads_now();
  for (uint32_t i = 0; i < threads.count; ++i)
    if (threads.slots[i].thread.load(std::memory_order_acquire) != 0) update_selector(threads.slots[i]);
}

void allow_system_calls() {
  if (Slot* slot = guard_thread.slot) slot->selector.store(kAllow, std::memory_order_seq_cst);
}

void dispatch_again() {
  if (Slot* slot = guard_thread.slot) update_selector(*slot);
}

void end_guarding() {
  refuse_for_good();  // before opening: a raise that is under way holds the table
  open_every_guard(TouchBy::given_up, Section::outside);
}

bool guards_wanted() { return guards_active() && !refused_for_good(); }

void enter_driver() {
  GuardThread& me = guard_thread;
  if (me.depth++ > 0 || !me.slot) return;
  Slot& slot = *me.slot;
  enter_undispatched(slot);
  if (slot.forking.load(std::memory_order_relaxed) && slot.forking.exchange(0)) wiped.forking.fetch_sub(1);
  if (!slot.watched.load(std::memory_order_relaxed) && guards_active()) watch_this_thread();
  end_calls(slot);
}

void leave_driver() {
  GuardThread& me = guard_thread;
  if (me.depth == 0 || --me.depth > 0 || !me.slot) return;
  leave_undispatched(*me.slot);
}

void enter_program_code(ProgramCode& before) {
  GuardThread& me = guard_thread;
  before = {me.depth, false};
  if (!guards_wanted()) return;
  if (me.slot) {
    if (me.depth > 0) leave_undispatched(*me.slot);
    me.depth = 0;
    return;
  }
  KeepErrno keep;
  me.depth = 0;
  before.registered = watch_this_thread();
  if (!before.registered) end_guarding();
}

void leave_program_code(const ProgramCode& before) {
  GuardThread& me = guard_thread;
  if (before.registered && me.slot) {
    KeepErrno keep;
    {
      Section section(Section::outside);
      end_dispatch();
      forget_this_thread();
    }
    if (!me.driver) {
      if (me.hidden_mask) kernel_sigmask(SIG_BLOCK, me.hidden_mask);
      me.hidden_mask = 0;
    }
  } else if (me.slot && before.depth > 0 && me.depth == 0) {
    enter_undispatched(*me.slot);
    end_calls(*me.slot);
  }
  me.depth = before.depth;
}

}  // namespace diogenes::agent
