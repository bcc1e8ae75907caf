#include "agent/watching/guard/threads/threads.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "agent/core/memory/copy.h"
#include "agent/core/thread_state.h"
#include "agent/watching/guard/section.h"
#include "agent/watching/guard/system_calls/syscall_memory.h"
#include "agent/watching/guard/system_calls/undispatched_code.h"
#include "agent/watching/guard/threads/own_folders.h"
#include "agent/watching/guard/threads/task_file.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#endif

namespace diogenes::agent {

thread_local constinit GuardThread guard_thread{};

namespace {

constexpr uint32_t kDriverThreads = 4096;
constexpr unsigned kAutoDisarm = 1u << 31;       // SS_AUTODISARM
constexpr int64_t kLookAgainAfter = 10'000'000;  // ns

Slot slots[kMaximumGuardedThreads];
std::atomic<uint32_t> slots_used{0};  // slots from here on were never used
std::atomic<uint32_t> registered{0};
std::atomic<uint32_t> unwatched{0};  // of the registered
std::atomic<uint32_t> coming{0};     // made, and not registered yet
std::atomic<uint32_t> arrivals{0};   // registrations so far
std::atomic<uint32_t> creations_begun{0}, creations_ended{0};
std::atomic<bool> foreign{false};    // refuse_for_good
std::atomic<bool> callbacks{false};  // the program's code was seen on a thread of the driver
std::atomic<uint32_t> driver_threads[kDriverThreads];
std::atomic<uint32_t> driver_thread_at{0};
std::atomic<uintptr_t> driver_begin{0}, driver_end{0};
int64_t looked_at = 0;

void set_watched(Slot& slot) {
  if (slot.watched.exchange(1, std::memory_order_seq_cst)) return;
  unwatched.fetch_sub(1, std::memory_order_seq_cst);
  update_selector(slot);
}

void free_slot(Slot& slot) {
  if (!slot.watched.load(std::memory_order_relaxed)) unwatched.fetch_sub(1, std::memory_order_relaxed);
  if (slot.forking.exchange(0)) wiped.forking.fetch_sub(1);
  slot.watched.store(0, std::memory_order_relaxed);
  slot.selector.store(kAllow, std::memory_order_relaxed);
  slot.call_pending.store(0, std::memory_order_relaxed);
  slot.nested.store(0, std::memory_order_relaxed);
  slot.before.store(0, std::memory_order_relaxed);
  slot.ready.store(0, std::memory_order_relaxed);
  slot.asleep.store(0, std::memory_order_relaxed);
  slot.in_lock.store(0, std::memory_order_relaxed);
  slot.creating.store(0, std::memory_order_relaxed);
  slot.depth.store(0, std::memory_order_relaxed);
  slot.asleep_runs[0] = 0;
  slot.seen_sleeps = -1;
  slot.range_count.store(0, std::memory_order_relaxed);
  registered.fetch_sub(1, std::memory_order_relaxed);
  slot.thread.store(0, std::memory_order_release);
}

// At this moment.
struct ThreadStatus {
  bool signals_open = false;  // it blocks none of kGuardSignals
  int64_t slept = -1;         // how often it has waited for something; -1: not known
};

ThreadStatus status_of(uint32_t thread) {
  char text[2048];
  if (!read_task_file(thread, "status", text, sizeof text)) return {};
  const char* blocked = strstr(text, "\nSigBlk:");
  const char* slept = strstr(text, "\nvoluntary_ctxt_switches:");
  return {blocked && (strtoull(blocked + 8, nullptr, 16) & kGuardSignals) == 0,
          slept ? strtoll(slept + 25, nullptr, 10) : -1};
}

bool read_self(void* to, const void* from, size_t bytes) {
  struct {
    const void* base;
    size_t bytes;
  } here{to, bytes}, there{from, bytes};
  return raw_syscall(SYS_process_vm_readv, raw_syscall(SYS_getpid), &here, 1, &there, 1, 0) ==
         static_cast<long>(bytes);
}

// Time that the kernel's ticks found it to run in user mode; -1: not known.
int64_t user_ticks(const Slot& slot) {
  char text[512];
  const char* at = nullptr;
  if (read_task_file(slot.thread.load(std::memory_order_relaxed), "stat", text, sizeof text))
    at = strrchr(text, ')');   // the name may have any other character
  constexpr int kFields = 12;  // from there to utime
  for (int i = 0; at && i < kFields; ++i) at = strchr(at + 1, ' ');
  return at ? strtoll(at, nullptr, 10) : -1;
}

// What the thread is inside of was not dispatched: the memory of that call (/proc/self/task/ID/syscall), or all memory where it
// cannot be told.
void note_call_under_way(Slot& slot, const char* call) {
  uint32_t count = 0;
  bool told = false;
  if (call) {
    char* at = nullptr;
    const long number = strtol(call, &at, 10);
    uint64_t arguments[6];
    for (auto& argument : arguments) argument = strtoull(at, &at, 16);
    told = for_each_piece(syscall_entry(number), arguments, read_self, [&](AddressRange range, Access) {
      if (count < kPendingCallRanges) slot.before_ranges[count] = range;
      return ++count <= kPendingCallRanges;
    });
  }
  if (!told) {
    slot.before_ranges[0] = {0, ~uintptr_t{0}}, count = 1;
    slot.ticks_before = user_ticks(slot);
  }
  for (uint32_t i = count; i < kPendingCallRanges; ++i) slot.before_ranges[i] = {};
  slot.before.store(told ? Slot::told : Slot::untold, std::memory_order_seq_cst);
}

// Has it left the call that it was in when it was watched? Its next one tells; or time that it runs in user mode, by more than
// rounding makes.
bool has_left_call(Slot& slot) {
  if (slot.before.load(std::memory_order_seq_cst) != Slot::untold) return false;
  if (slot.ticks_before < 0 || user_ticks(slot) < slot.ticks_before + 2) return false;
  slot.before.store(0, std::memory_order_seq_cst);
  return true;
}

// Watched first: a call that begins after that is dispatched, one that began before is seen in /proc. Not so in the moments in
// which libc blocks all signals, of which it does not tell: a call that is dispatched there ends the program.
void try_to_watch(Slot& slot) {
  if (!slot.ready.load(std::memory_order_acquire)) return;
  uint32_t thread = slot.thread.load(std::memory_order_relaxed);
  const bool gone = raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), thread, 0) != 0;
  if (gone) return free_slot(slot);  // without a word
  char runs[kRunsText], later[kRunsText], call[256];
  const bool counted = read_runs(thread, runs);
  const bool sleeps =
      counted && read_task_file(thread, "syscall", call, sizeof call) && call[0] >= '0' && call[0] <= '9';
  const ThreadStatus status = status_of(thread);
  // One that sleeps now and then is met asleep; while it runs it may be anywhere. One that never does makes no such calls.
  const bool spins = status.slept >= 0 && status.slept == slot.seen_sleeps;
  slot.seen_sleeps = status.slept;
  if (!status.signals_open || !(sleeps || spins) || slot.creating.load(std::memory_order_seq_cst)) return;
  note_unseen_actions();  // what it did up to now was not dispatched
  set_watched(slot);
  // It slept from the first look to this: it is still in that call, and blocks what it blocked.
  const bool slept = sleeps && read_runs(thread, later) && strcmp(runs, later) == 0;
  if ((sleeps && !slept) || slot.creating.load(std::memory_order_seq_cst)) {
    if (slot.watched.exchange(0, std::memory_order_seq_cst))
      unwatched.fetch_add(1, std::memory_order_seq_cst);
    return update_selector(slot);
  }
  note_call_under_way(slot, slept ? call : nullptr);
}

bool known_thread(uint32_t thread) {
  uint32_t used = slots_used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i)
    if (slots[i].thread.load(std::memory_order_relaxed) == thread) return true;
  for (auto& driver : driver_threads)
    if (driver.load(std::memory_order_relaxed) == thread) return true;
  return false;
}

void note_known_thread(uint32_t thread) {
  driver_threads[driver_thread_at.fetch_add(1, std::memory_order_relaxed) % kDriverThreads].store(
      thread, std::memory_order_release);
}

// So near to a thread-local of the agent's or of libc's, there are others of them.
constexpr uintptr_t kNearVariables = 512;

constexpr size_t kHandlerStack = 64 << 10,
                 kFrames = 32 << 10;  // right below: an alternate stack for small ones

// Of the main thread, or one that was not made by pthread_create.
size_t usual_stack() {
  struct {
    uint64_t now, most;
  } limit{};
  constexpr uint64_t kLeast = 256 << 10, kMost = 64 << 20;
  raw_syscall(SYS_prlimit64, 0, RLIMIT_STACK, nullptr, &limit);
  return std::clamp(limit.now, kLeast, kMost);
}

// What lies above a thread's stack is somebody else's memory, and may be guarded: a thread of pthread_create
// has its control block at the very top of its stack.
AddressRange control_block() {
  constexpr uintptr_t kBytes = 2304;  // of glibc
  uintptr_t control;
  asm("mov %%fs:0, %0" : "=r"(control));
  return AddressRange::of(control, kBytes);
}
uintptr_t top_of_stack(uintptr_t stack, uintptr_t at_most) {
  const AddressRange control = control_block();
  if (control.begin < stack || control.begin >= at_most) return at_most;
  return std::min(at_most, control.pages().end);
}

// Under the table's lock: what register_this_thread does.
void take_slot(size_t stack_bytes) {
  GuardThread& me = guard_thread;
  if (me.slot) return;
  Slot* slot = nullptr;
  uint32_t id = kernel_thread_id();
  for (uint32_t i = 0; i < kMaximumGuardedThreads && !slot; ++i) {
    uint32_t free = 0;
    if (slots[i].thread.compare_exchange_strong(free, id, std::memory_order_acq_rel)) {
      slot = &slots[i];
      uint32_t used = slots_used.load(std::memory_order_relaxed);
      while (used < i + 1 && !slots_used.compare_exchange_weak(used, i + 1, std::memory_order_release)) {
      }
    }
  }
  if (!slot) {
    refuse_for_good();
    return;
  }
  uintptr_t stack = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const uintptr_t most = stack + 64 * 1024, top = top_of_stack(stack, most);
  // Measured from the top where that is known: right below a stack the kernel likes to put what comes next.
  slot->own_memory[0] = {(top < most ? top : stack) - (stack_bytes ? stack_bytes : usual_stack()), top};
  if (!slot->handler_stack) {
    long stacks = raw_syscall(SYS_mmap, nullptr, kFrames + kHandlerStack, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks > 0) slot->handler_stack = static_cast<uintptr_t>(stacks) + kFrames;
  }
  slot->own_memory[1] = thread_variables();
  slot->own_memory[2] = {};
  slot->own_memory[3] = control_block().pages();
  slot->libc_has_stack = stack_bytes != 0;
  stack_t alternate{};
  if (raw_syscall(SYS_sigaltstack, nullptr, &alternate) == 0) set_alternate_stack(*slot, alternate);
  slot->depth.store(me.depth > 0, std::memory_order_relaxed);
  AddressRange code = undispatched_code();
  slot->selector.store(kAllow, std::memory_order_relaxed);
  registered.fetch_add(1, std::memory_order_seq_cst);
  unwatched.fetch_add(1, std::memory_order_seq_cst);
  arrivals.fetch_add(1, std::memory_order_seq_cst);
  if (raw_syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, code.begin, code.size(),
                  &slot->selector) != 0) {
    free_slot(*slot);
    refuse_for_good();
    return;
  }
  me.slot = me.cleared_by_stubs = slot;
  leave_small_stack(stack_bytes);
  slot->ready.store(1, std::memory_order_release);
}

}  // namespace

void set_driver_range(AddressRange range) {
  driver_end.store(range.end, std::memory_order_relaxed);
  driver_begin.store(range.begin, std::memory_order_release);
}

bool in_driver_code(uintptr_t instruction) {
  return instruction >= driver_begin.load(std::memory_order_acquire) &&
         instruction < driver_end.load(std::memory_order_relaxed);
}

// What lies below these pages is somebody else's: the main thread's variables are in a mapping of their own,
// and the program's memory comes to lie right under it.
AddressRange thread_variables() {
  uintptr_t local = reinterpret_cast<uintptr_t>(&guard_thread);
  uintptr_t lowest = std::min(local, reinterpret_cast<uintptr_t>(&errno)) - kNearVariables;
  return {AddressRange{lowest, local}.pages().begin, top_of_stack(local, local + kPageSize)};
}

uint64_t stack_left() {
  const Slot* slot = guard_thread.slot;
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return slot && slot->own_memory[0].contains(here) ? here - slot->own_memory[0].begin : 0;
}

bool copy_watched_if_there(void* to, const void* from, uint64_t bytes) {
  const Slot* me = guard_thread.slot;
  if (!me || !me->watched.load(std::memory_order_relaxed)) return copy_if_there(to, from, bytes);
  return diogenes_copy(to, from, bytes);
}

void register_this_thread(size_t stack_bytes) {
  Section section(Section::outside);
  take_slot(stack_bytes);
}

bool watch_this_thread(size_t stack_bytes) {
  GuardThread& me = guard_thread;
  if (me.slot && me.slot->watched.load(std::memory_order_relaxed)) return true;
  const SignalBits blocked = kernel_sigmask(SIG_UNBLOCK, kGuardSignals) & kGuardSignals;
  {
    Section section(Section::outside);
    take_slot(stack_bytes);
    if (me.slot) {
      if (!me.driver) note_unseen_actions();  // what it did up to now was not dispatched
      me.hidden_mask |= blocked;
      end_calls(*me.slot);
      set_watched(*me.slot);
      return true;
    }
  }
  kernel_sigmask(SIG_BLOCK, blocked);
  return false;
}

void unwatch_this_thread(ucontext_t* context) {
  GuardThread& me = guard_thread;
  if (!me.slot || !me.slot->watched.exchange(0, std::memory_order_seq_cst)) return;
  unwatched.fetch_add(1, std::memory_order_seq_cst);
  me.slot->selector.store(kAllow, std::memory_order_seq_cst);
  frame_mask(context) |= me.hidden_mask;
  me.hidden_mask = 0;
}

void end_dispatch() { raw_syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0); }

void forget_this_thread() {
  GuardThread& me = guard_thread;
  if (!me.slot) return;
  // Libc gives the stack to the next thread, which runs on it before it could handle a fault.
  if (me.slot->libc_has_stack) other_rights.add(me.slot->own_memory[0].pages());
  free_slot(*me.slot);
  me.slot = nullptr, me.cleared_by_stubs = &no_slot;
}

void forget_threads_in_child() {
  for (auto& slot : slots) {
    slot.on_handler_stack.store(0, std::memory_order_relaxed);
    slot.asleep_runs[0] = 0;
    slot.asleep.store(0, std::memory_order_relaxed);
    slot.watched.store(0, std::memory_order_relaxed);
    slot.forking.store(0, std::memory_order_relaxed);
    slot.ready.store(0, std::memory_order_relaxed);
    slot.range_count.store(0, std::memory_order_relaxed);
    slot.thread.store(0, std::memory_order_relaxed);
  }
  for (auto& driver : driver_threads) driver.store(0, std::memory_order_relaxed);
  creations_ended.store(creations_begun.load());
  coming.store(0), registered.store(0), unwatched.store(0), slots_used.store(0);
  uint32_t depth = guard_thread.depth;
  guard_thread = {};
  guard_thread.depth = depth;
}

void note_driver_thread() {
  // The driver's threads block every signal: interpose/signals.cc.
  guard_thread.hidden_mask |= kernel_sigmask(SIG_UNBLOCK, kGuardSignals) & kGuardSignals;
  guard_thread.driver = true;
  note_known_thread(kernel_thread_id());
}

bool in_driver_now() { return guard_thread.depth > 0; }

void note_thread_coming() { coming.fetch_add(1, std::memory_order_seq_cst); }

void note_thread_came() { coming.fetch_sub(1, std::memory_order_seq_cst); }

ThreadsMade threads_made() {
  uint32_t ended = creations_ended.load(std::memory_order_seq_cst);
  uint32_t begun = creations_begun.load(std::memory_order_seq_cst);
  return {begun - ended, begun};
}

void note_creation(bool ends) {
  (ends ? creations_ended : creations_begun).fetch_add(1, std::memory_order_seq_cst);
  if (Slot* slot = guard_thread.slot) slot->creating.store(!ends, std::memory_order_seq_cst);
}

void note_callback() { callbacks.store(true, std::memory_order_relaxed); }

void refuse_for_good() { foreign.store(true, std::memory_order_seq_cst); }

bool refused_for_good() { return foreign.load(std::memory_order_relaxed); }

bool has_had_threads() { return coming.load() > 0 || arrivals.load() > 1; }

Threads threads_now() {
  return {slots, slots_used.load(std::memory_order_acquire), arrivals.load(std::memory_order_seq_cst),
          coming.load(std::memory_order_seq_cst) == 0 && !callbacks.load(std::memory_order_relaxed) &&
              !foreign.load(std::memory_order_relaxed)};
}

bool all_threads_watched() {
  if (foreign.load(std::memory_order_relaxed)) return false;
  if (unwatched.load(std::memory_order_seq_cst) == 0) return true;
  timespec time{};  // not by the vdso, which may make a system call of its own: one that is dispatched,
                    // signals blocked
  raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
  int64_t now = time.tv_sec * 1'000'000'000 + time.tv_nsec;
  if (now - looked_at < kLookAgainAfter) return false;
  looked_at = now;
  uint32_t used = slots_used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    Slot& slot = slots[i];
    if (slot.thread.load(std::memory_order_acquire) == 0 || slot.watched.load(std::memory_order_relaxed))
      continue;
    try_to_watch(slot);
  }
  return unwatched.load(std::memory_order_seq_cst) == 0;
}

bool no_foreign_threads() {
  if (foreign.load(std::memory_order_relaxed)) return false;
  return for_each_thread(known_thread);
}

bool in_pending_call(AddressRange wanted) {
  uint32_t used = slots_used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    Slot& slot = slots[i];
    if (slot.thread.load(std::memory_order_acquire) == 0) continue;
    if (slot.before.load(std::memory_order_seq_cst) && !has_left_call(slot))
      for (const AddressRange& range : slot.before_ranges)
        if (range.overlaps(wanted)) return true;
    // seq_cst: either this sees the call, or the call's dispatcher sees the guard (may_be_guarded).
    if (!slot.call_pending.load(std::memory_order_seq_cst) && !slot.nested.load(std::memory_order_seq_cst))
      continue;
    uint32_t count = std::min(slot.range_count.load(std::memory_order_seq_cst), kPendingCallRanges);
    for (uint32_t n = 0; n < count; ++n)
      if (slot.ranges[n].overlaps(wanted)) return true;
  }
  return false;
}

bool thread_memory(AddressRange pages) {
  uint32_t used = slots_used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    if (slots[i].thread.load(std::memory_order_acquire) == 0) continue;
    for (const AddressRange& own : slots[i].own_memory)
      if (!own.empty() && own.overlaps(pages)) return true;
  }
  uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return AddressRange{here - 64 * 1024, top_of_stack(here, here + 64 * 1024)}.overlaps(pages);
}

void set_alternate_stack(Slot& slot, const stack_t& stack) {
  slot.own_memory[2] = {};
  if (!(stack.ss_flags & SS_DISABLE))
    slot.own_memory[2] = AddressRange::of(reinterpret_cast<uintptr_t>(stack.ss_sp), stack.ss_size).pages();
}

void leave_small_stack(size_t bytes) {
  constexpr size_t kSmall = 64 << 10;
  Slot* slot = guard_thread.slot;
  if (!slot || !slot->handler_stack || bytes == 0 || bytes >= kSmall || !slot->own_memory[2].empty()) return;
  const stack_t ours{reinterpret_cast<void*>(slot->handler_stack - kFrames), 0, kFrames};
  if (raw_syscall(SYS_sigaltstack, &ours, nullptr) == 0) set_alternate_stack(*slot, ours);
}

bool take_on_handler_stack(TakeSignal take, siginfo_t* info, ucontext_t* context) {
  Slot* slot = guard_thread.slot;
  if (!slot || !slot->handler_stack || slot->on_handler_stack.exchange(1)) return take(info, context);
  struct Taking {
    TakeSignal take;
    siginfo_t* info;
    ucontext_t* context;
    bool taken;
  } taking{take, info, context, false};
  diogenes_call_on(
      slot->handler_stack + kHandlerStack,
      [](void* opaque) {
        auto& me = *static_cast<Taking*>(opaque);
        // A fault in here must not begin at the top of the alternate stack, where we have come from.
        stack_t alternate = me.context->uc_stack, none{};
        none.ss_flags = SS_DISABLE;
        const bool armed = !(alternate.ss_flags & (SS_DISABLE | static_cast<int>(kAutoDisarm)));
        if (armed) raw_syscall(SYS_sigaltstack, &none, nullptr);
        me.taken = me.take(me.info, me.context);
        alternate.ss_flags = 0;
        if (armed) raw_syscall(SYS_sigaltstack, &alternate, nullptr);
      },
      &taking);
  slot->on_handler_stack.store(0);
  return taking.taken;
}

}  // namespace diogenes::agent
