// Page guards: the owner's calls. How a guard lives:
//
//                 raise_guard                 a touch, a call, open_range, open_all
//     unused  ------------------>  live  -------------------------------------------->  touched
//        ^                           |                                                     |
//        +---------------------------+---------------------- lower_guard ------------------+
//
// live: in the index (guard_table.cc); every page of its range has the strictest protection that live guards
// over it ask for. touched: out of the index, `touch` says by what, and its pages have what the guards left
// over them ask for.
//
// Small ranges are guarded by watchpoints instead (watch_guards.cc): their pages stay as they are, a touch
// comes as SIGTRAP after the instruction, and nothing beside the range is seen. For small blocks of the heap
// that do not fit into watchpoints there is no page guard: the driver keeps locks and structures of its own
// on such pages, hands them to the kernel, and would be refused.
//
// A fault (fault.cc) on a page under a live page guard that forbids the access:
//   1. bytes of a range may be touched          every guard over them: touched, by the program or the driver
//   2. beside every range, the other threads    the page opens for one instruction (trap flag, all signals
//      at rest (threads_at_rest.h), bounded     held back) and closes in SIGTRAP; the guards stay live, or
//      reach, not too often (fault.cc)     exposed where another thread ran meanwhile after all
//   3. beside, otherwise                        guards on the page: touched, exposed
// A fault on a page under no live guard was overtaken by an opening and is tried again once, or is the
// program's.
//
// A system call of a watched thread (dispatch.cc), before it is made, for each piece of memory that it is
// given:
//   bytes of a range: touched, by system call; only its page: exposed; then the page is open, and the call
//   sees nothing. A call that releases memory: gone. One that is not known, forks or executes: every guard
//   given up, and none raised until it is back. The pieces are kept as `call_pending` until then: no guard is
//   raised over them, since a call that is waiting, or starts again after a signal, would meet it unseen.
//
// Who may do what when: one lock, taken with all signals blocked, by the owner and by handlers alike; it is
// held for searches in the index and calls of mprotect only. A forked child holds nothing: the lock, the
// count of guards and 'active' lie on a page that the kernel wipes there.
#include "agent/watching/guard/guards.h"

#include <fcntl.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "agent/core/memory/copy.h"
#include "agent/core/thread_state.h"
#include "agent/watching/guard/faults/fault.h"
#include "agent/watching/guard/faults/threads_at_rest.h"
#include "agent/watching/guard/guard_table.h"
#include "agent/watching/guard/system_calls/dispatch.h"
#include "agent/watching/guard/system_calls/undispatched_code.h"
#include "agent/watching/guard/threads/signals.h"
#include "agent/watching/guard/threads/threads.h"
#include "agent/watching/guard/threads/unseen_users.h"
#include "agent/watching/guard/watchpoints/registers.h"

namespace diogenes::agent {

namespace {

constexpr int kWipeOnFork = 18;            // MADV_WIPEONFORK
constexpr uint32_t kLookForThreads = 256;  // raises between two looks at /proc/self/task
constexpr uint32_t kLookForHandlers = 16;  // between two looks whether our handlers are current

enum class Start : uint8_t { not_yet, done, failed };
Start start_state = Start::not_yet;
bool wiped_by_kernel = false;
uint32_t most_live = kMaximumGuards;
uint32_t raises = 0;
bool looked_at_files = false;
NoWatchpoints no_watchpoints{};

uint32_t quarter_of_map_count() {
  char text[32] = {};
  long file = raw_syscall(SYS_openat, AT_FDCWD, "/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 4096;
  raw_syscall(SYS_read, file, text, sizeof text - 1);
  raw_syscall(SYS_close, file);
  return static_cast<uint32_t>(std::min(strtoull(text, nullptr, 10), 1ull << 30) / 4);
}

int32_t slot_offset() {
  uintptr_t base;
  asm("mov %%fs:0, %0" : "=r"(base));
  return static_cast<int32_t>(reinterpret_cast<intptr_t>(&guard_thread.cleared_by_stubs) -
                              static_cast<intptr_t>(base));
}

// Forks that are not dispatched: on a thread of the driver, or inside a call into it.
void before_fork() {
  wiped.forking.fetch_add(1, std::memory_order_seq_cst);
  { Section barrier(Section::outside); }
  open_every_guard(TouchBy::given_up, Section::outside);
}

void after_fork_in_parent() { wiped.forking.fetch_sub(1, std::memory_order_seq_cst); }

void after_fork_in_child() {
  if (!wiped_by_kernel) new (&wiped) WipedOnFork;
  if (start_state == Start::not_yet) {
    if (guard_thread.hidden_mask) kernel_sigmask(SIG_BLOCK, guard_thread.hidden_mask);
    return forget_threads_in_child();
  }
  give_back_signals();
  forget_threads_in_child();
  forget_rest_check_in_child();
  end_watchpoints();
  start_state = Start::failed;  // the driver does not work in a forked child either
}

bool start() {
  if (peers_may_read()) return false;
  register_this_thread();
  if (!guard_thread.slot) return false;
  {
    Section section(Section::outside);
    if (!prepare_stubs(slot_offset(), offsetof(Slot, call_pending))) return false;
    if (!no_foreign_threads()) return false;
  }
  if (raw_syscall(SYS_madvise, &wiped, sizeof wiped, kWipeOnFork) != 0) return false;
  wiped_by_kernel = true;
  if (!follow_forks()) return false;
  prepare_rest_check();
  most_live = std::min(kMaximumGuards, quarter_of_map_count());
  if (!take_signals(on_fault, on_trap, on_sys)) return false;
  wiped.active.store(1, std::memory_order_release);
  return watch_this_thread();
}

GuardHandle handle_of(uint32_t id) {
  return static_cast<uint32_t>(guard_at(id)->generation) << 16 | (id + 1);
}

// Under the table's lock: nothing stands against a guard now.
bool may_raise() {
  uint32_t turn = raises++;
  if (wiped.live.load(std::memory_order_relaxed) >= most_live) return false;
  if (turn % kLookForThreads == kLookForThreads - 1 && !no_foreign_threads()) return false;
  if (turn % kLookForHandlers == kLookForHandlers - 1) reclaim_signals();
  if (wiped.forking.load(std::memory_order_seq_cst) != 0 || !all_threads_watched()) return false;
  // From the first time on no thread makes a ring unseen.
  if (!looked_at_files || (more_files_may() && turn % kLookForThreads == kLookForThreads - 1)) {
    looked_at_files = true;
    if (files_may_use_memory()) refuse_for_good();
  }
  return !refused_for_good();
}

void take_down(uint32_t id) {
  Guard& guard = *guard_at(id);
  AddressRange pages = guard.range.pages();
  if (guard.by_watchpoints) {
    bool unseen = touched_unseen(guard);
    mark_touched(id, unseen ? Touch{TouchBy::exposed, Access::unknown, monotonic_now(), guard.range.begin, 0}
                            : Touch{});
    return;
  }
  mark_touched(id, Touch{});
  protect_pages(pages);
}

}  // namespace

bool follow_forks() {
  static bool followed = false;
  if (!followed) followed = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
  return followed;
}

bool start_guards() {
  if (start_state == Start::not_yet) {
    KeepErrno keep;
    start_state = start() ? Start::done : Start::failed;
    if (start_state == Start::failed) wiped.active.store(0, std::memory_order_release);
  }
  return start_state == Start::done;
}

void note_coroutine_stack(AddressRange stack) {
  static std::atomic<uintptr_t> known[256];  // most switches are to one that was noted
  leave_small_stack(stack.size());
  std::atomic<uintptr_t>& place = known[stack.begin * 0x9e3779b97f4a7c15 >> 56];
  if (stack.empty() || place.exchange(stack.begin, std::memory_order_relaxed) == stack.begin) return;
  KeepErrno keep;
  open_range(stack.pages(), TouchBy::exposed);
  Section section(Section::outside);
  coroutine_stacks.add(stack.pages());
}

void guard_this_thread(size_t stack_bytes) {
  KeepErrno keep;
  if (guards_active())
    watch_this_thread(stack_bytes);
  else
    register_this_thread(stack_bytes);
}

GuardHandle raise_guard(AddressRange range, Protection protection, const Watching& how) {
  constexpr uintptr_t kUserEnd = uintptr_t{1} << 47;
  no_watchpoints = NoWatchpoints::not_now;
  if (!guards_active() || range.empty() || range.begin < kPageSize || range.end > kUserEnd - kPageSize)
    return kNoGuard;
  if (Slot* slot = guard_thread.slot) {
    if (slot->forking.load(std::memory_order_relaxed) && slot->forking.exchange(0))
      wiped.forking.fetch_sub(1);
    if (!slot->watched.load(std::memory_order_relaxed)) watch_this_thread();
  }
  Section section(Section::outside);
  uint32_t id;
  bool by_pages = how.method == WatchMethod::pages;
  if (!may_raise() || (by_pages && !how.own_pages && thread_memory(range.pages())) ||
      (by_pages && (other_rights.overlaps(range.pages()) || coroutine_stacks.overlaps(range.pages()))) ||
      !make_live(range, protection, how, id))
    return kNoGuard;
  // Watchpoints leave the page open: a call under way elsewhere on it (a thread that waits on a semaphore) is
  // no matter.
  if (in_pending_call(by_pages ? range.pages() : range) ||
      !(by_pages ? protect_pages(range.pages()) : give_registers(id, *guard_at(id), no_watchpoints))) {
    guard_at(id)->watch = 0;  // it never began
    take_down(id);
    release(id);
    return kNoGuard;
  }
  return handle_of(id);
}

Touch collect(GuardHandle handle) {
  uint32_t id;
  Guard* guard = guard_of(handle, id);
  // acquire: pairs with mark_touched()
  if (!guard || guard->state.load(std::memory_order_acquire) != Guard::touched) return {};
  return guard->touch;
}

uint32_t touch_count() { return touches.load(std::memory_order_acquire); }  // pairs with mark_touched()

NoWatchpoints why_no_watchpoints() { return no_watchpoints; }

void collect_unseen() {
  if (wiped.watched.load(std::memory_order_relaxed) == 0) return;
  Section section(Section::outside);
  GuardList all = live_over({0, ~uintptr_t{0} & ~(kPageSize - 1)});
  uint32_t ids[kWatchRegisters], count = 0;
  for (uint32_t id : all)
    if (guard_at(id)->by_watchpoints && count < kWatchRegisters) ids[count++] = id;
  for (uint32_t i = 0; i < count; ++i)
    if (touched_unseen(*guard_at(ids[i]))) take_down(ids[i]);
}

Touch lower_guard(GuardHandle handle) {
  uint32_t id;
  if (!guard_of(handle, id)) return {};
  Section section(Section::outside);
  Guard* guard = guard_of(handle, id);
  if (!guard) return {};
  if (guard->state.load(std::memory_order_relaxed) == Guard::live) take_down(id);
  Touch touch = guard->touch;
  release(id);
  return touch;
}

void open_range(AddressRange range, TouchBy by) { open_guards(range, by, Section::outside); }

void open_all(TouchBy by) { open_every_guard(by, Section::outside); }

bool any_guard_up() { return wiped.live.load(std::memory_order_relaxed) != 0; }

}  // namespace diogenes::agent
