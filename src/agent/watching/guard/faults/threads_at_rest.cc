#include "agent/watching/guard/faults/threads_at_rest.h"

#include <cstring>

#include "agent/watching/guard/threads/signals.h"
#include "agent/watching/guard/threads/task_file.h"
#include "agent/watching/guard/threads/threads.h"

namespace diogenes::agent {

namespace {

constexpr int kMostAskedOfKernel = 8;  // threads a step; each costs about as much as the step itself
constexpr int kBarrier = 1 << 3, kRegisterBarrier = 1 << 4;  // MEMBARRIER_CMD_PRIVATE_EXPEDITED

bool barrier_works = false;

// The check under way.
const GuardThread* owner = nullptr;
uint32_t arrivals_at_begin = 0;
uint32_t actions_at_begin = 0;
uint32_t others = 0;
bool trusts_calls = false;  // the program has no signal handlers

bool runs_of(const Slot& slot, char (&text)[kRunsText]) {
  return read_runs(slot.thread.load(std::memory_order_relaxed), text);
}

bool asleep(Slot& slot) {
  // The runs first: those that end before the thread is found asleep make a difference later, which is the
  // safe side.
  if (!runs_of(slot, slot.seen_runs)) return false;
  // Found asleep earlier, and no run since: it still is.
  if (slot.asleep_runs[0] && strcmp(slot.asleep_runs, slot.seen_runs) == 0) return true;
  char call[128];
  if (!read_task_file(slot.thread.load(std::memory_order_relaxed), "syscall", call, sizeof call) ||
      call[0] == 'r')  // "running": also where the kernel could not tell
    return false;
  strcpy(slot.asleep_runs, slot.seen_runs);
  return true;
}

bool in_call(const Slot& slot) {
  return slot.watched.load(std::memory_order_relaxed) && slot.call_pending.load(std::memory_order_seq_cst);
}

template <typename Visit>
bool every_other(const Threads& threads, Visit&& visit) {
  for (uint32_t i = 0; i < threads.count; ++i) {
    Slot& slot = threads.slots[i];
    if (&slot == guard_thread.slot || slot.thread.load(std::memory_order_acquire) == 0) continue;
    if (!visit(slot)) return false;
  }
  return true;
}

bool still_at_rest(const Slot& slot) {
  if (!slot.seen_in_call) {
    char runs[kRunsText];
    return runs_of(slot, runs) && strcmp(runs, slot.seen_runs) == 0;
  }
  // In this order: calls only grow, so where they are still what they were, the thread was inside that same
  // call when call_pending was read, which is after the pages were closed. The other way round it could
  // return, touch, and enter its next call between the two.
  return in_call(slot) && slot.calls.load(std::memory_order_seq_cst) == slot.seen_calls;
}

}  // namespace

void prepare_rest_check() { barrier_works = raw_syscall(SYS_membarrier, kRegisterBarrier, 0, 0) == 0; }

bool begin_rest_check() {
  if (owner) return owner == &guard_thread;
  Threads threads = threads_now();
  if (!threads.known) return false;
  arrivals_at_begin = threads.arrivals;
  others = 0;
  trusts_calls = barrier_works && !program_has_handlers(actions_at_begin);
  int asked = 0;
  bool at_rest = every_other(threads, [&](Slot& slot) {
    ++others;
    slot.seen_calls = slot.calls.load(std::memory_order_seq_cst);
    slot.seen_in_call = trusts_calls && in_call(slot);
    return slot.seen_in_call || (asked++ < kMostAskedOfKernel && asleep(slot));
  });
  if (at_rest) owner = &guard_thread;
  return at_rest;
}

bool end_rest_check() {
  owner = nullptr;
  // A thread that came back from its call has cleared call_pending before it touched anything. The barrier
  // makes that store visible here: it runs on every processor on which a thread of this process does. A touch
  // after it meets the closed page.
  if (others > 0 && barrier_works) raw_syscall(SYS_membarrier, kBarrier, 0, 0);
  Threads threads = threads_now();
  if (!threads.known || threads.arrivals != arrivals_at_begin) return false;
  if (trusts_calls && action_changes.load(std::memory_order_seq_cst) != actions_at_begin) return false;
  uint32_t left = 0;
  return every_other(threads, [&](Slot& slot) { return ++left, still_at_rest(slot); }) && left == others;
}

bool rest_check_under_way() { return owner != nullptr; }

void forget_rest_check_in_child() { owner = nullptr; }

}  // namespace diogenes::agent
