// The threads of the program, as the guards know them, and whether the kernel hands their system calls to us.
//
// A thread is `watched` when Syscall User Dispatch is on with its selector at BLOCK (ALLOW inside the
// driver): then every system call and so every change of its signal mask is seen, and its mask never blocks
// kGuardSignals in the kernel. A thread that was only registered has the dispatch on with the selector at
// ALLOW. Guards are raised only while every thread of the program is watched. A thread is made watched by
// itself (watch_this_thread), or, where it was registered before start_guards() or had to be let go, from
// outside while /proc says that it blocks none of the signals, and that it sleeps or never does.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/watching/guard/system_calls/kernel.h"
#include "agent/watching/guard/threads/task_file.h"
#include "base/range.h"
#include "base/units.h"

namespace diogenes::agent {

inline constexpr uint32_t kMaximumGuardedThreads = 1024;
inline constexpr uint32_t kPendingCallRanges = 8;
inline constexpr uint32_t kStepPages = 8;

struct alignas(64) Slot {
  std::atomic<uint8_t> selector{0};      // read by the kernel at each system call
  std::atomic<uint8_t> call_pending{0};  // a dispatched call is under way; cleared by its stub
  std::atomic<uint8_t> watched{0};
  std::atomic<uint8_t> depth{0};  // inside the driver
  std::atomic<uint8_t> forking{0};
  std::atomic<uint8_t> nested{0};  // `ranges` holds those of a call that a signal handler interrupted, too
  enum : uint8_t { told = 1, untold };
  std::atomic<uint8_t> before{
      0};  // `before_ranges` holds: the call it was in when it was watched from outside
  std::atomic<uint8_t> ready{0};     // the dispatch is on
  std::atomic<uint8_t> asleep{0};    // between begin_sleep() and end_sleep() (order/order.h)
  std::atomic<uint8_t> in_lock{0};   // a LockCall lives
  std::atomic<uint8_t> creating{0};  // inside pthread_create, where libc blocks all signals
  std::atomic<uint32_t> thread{0};   // kernel's id; 0: the slot is free
  std::atomic<uint32_t> range_count{0};
  AddressRange ranges[kPendingCallRanges];  // memory of the pending call
  AddressRange before_ranges[kPendingCallRanges];
  int64_t ticks_before = -1;  // in user mode, when it was watched; of an untold call
  std::atomic<uint8_t> on_handler_stack{0};
  uintptr_t handler_stack = 0;  // mapped once; the slot's next thread has it, too
  uintptr_t call_stack = 0;     // stack pointer of the pending call
  // Never guarded: stack, thread-local storage near ours, alternate stack, the thread's control block, which the program's own
  // thread-local storage may share a page with.
  AddressRange own_memory[4];
  bool libc_has_stack = false;  // made by pthread_create: it stays when the thread has ended

  std::atomic<uint32_t> calls{0};  // dispatched so far, and LockCalls; never back to 0

  // What a step saw of it when it began, and when it last was asleep (threads_at_rest.cc). Under the table's
  // lock.
  uint32_t seen_calls = 0;
  int64_t seen_sleeps = -1;   // when it was last looked at, to be watched from outside
  bool seen_in_call = false;  // else: seen_runs holds
  char seen_runs[kRunsText] = {};
  char asleep_runs[kRunsText] = {};
};
static_assert(offsetof(Slot, call_pending) == 1);

// The step under way: pages that are open for it, and what of the context comes back afterwards.
struct Step {
  uint32_t count = 0;
  bool flag = false;  // the program's own trap flag
  SignalBits mask = 0;
  Nanoseconds began;  // CLOCK_MONOTONIC
  uintptr_t pages[kStepPages] = {};
};

inline Slot no_slot;  // of threads that have none

// This thread's; part of the library's one block of thread-local storage, of the initial-exec model.
struct GuardThread {
  Slot* slot = nullptr;
  Slot* cleared_by_stubs =
      &no_slot;         // `slot`, and never null: a forked child may return into its parent's stub
  uint32_t depth = 0;   // inside the driver, also on threads without a slot
  bool driver = false;  // made by the driver
  Step step;
  int64_t awaited_ns = 0;      // for what was deferred (DeferredWaits)
  uint32_t creating = 0;       // inside pthread_create: the clone that comes is no foreign one
  SignalBits hidden_mask = 0;  // those of kGuardSignals that the program believes to be blocked
  uintptr_t late_instruction = 0, late_address = 0;  // the last fault on an unguarded page, and
  uint32_t late_openings = 0;                        // `openings` at it
};
extern __attribute__((tls_model("initial-exec"))) thread_local constinit GuardThread guard_thread;

// calls.cc: what follows up to guards_wanted, and the pending call below.

inline constexpr uint8_t kAllow = 0, kBlock = 1;  // Slot::selector: SYSCALL_DISPATCH_FILTER_*
void update_selector(Slot& slot);  // after a change of what it follows: `watched`, `depth`, `in_lock`
void enter_undispatched(Slot& slot);
void leave_undispatched(Slot& slot);

// The selector at ALLOW while one lives: for what runs in a handler and may make system calls through libc.
class Undispatched {
 public:
  Undispatched() : slot_(guard_thread.slot) {
    if (slot_) enter_undispatched(*slot_);
  }
  ~Undispatched() {
    if (slot_) leave_undispatched(*slot_);
  }
  Undispatched(const Undispatched&) = delete;
  Undispatched& operator=(const Undispatched&) = delete;

 private:
  Slot* slot_;
};

// What libc asks of the kernel for a lock, a condition, a barrier or a semaphore without a time concerns nothing but that
// object. While one of these lives, the kernel does not hand such calls over, which would take longer than they do; the thread
// counts as inside one call. It ends before a handler of the program's runs that interrupts it (leave_lock_call), and there is
// none any more once the program cancels a thread: that one would go without its end. Nor is there one of an object on a
// guarded page, which the kernel would not reach; and no guard is raised over an object while there is one of it.
class LockCall {
 public:
  template <typename... Objects>
  explicit LockCall(const Objects*... objects)
      : slot_(guard_thread.slot
                  ? begin({AddressRange::of(reinterpret_cast<uintptr_t>(objects), sizeof(Objects))...})
                  : nullptr) {}
  ~LockCall() {
    if (slot_) end();
  }
  LockCall(const LockCall&) = delete;
  LockCall& operator=(const LockCall&) = delete;

 private:
  // Null: this thread's calls are not handed over, or each of them is.
  static Slot* begin(std::initializer_list<AddressRange> objects);
  void end();

  Slot* slot_;
};
void leave_lock_call();
void note_cancellation();  // before a thread is cancelled

// The calling thread is inside a driver call: its touches are the driver's, its system calls are not
// dispatched. Nests. Set by the thunk.
void enter_driver();
void leave_driver();

// The driver runs the program's code on the calling thread: a host function, on one of its own threads or
// inside a call. From enter to leave that thread is one of the program's, whose touches are uses and whose
// system calls are dispatched; then it is what it was before. Where it cannot be, guarding ends.
struct ProgramCode {
  uint32_t depth = 0;
  bool registered = false;
};
void enter_program_code(ProgramCode& before);
void leave_program_code(const ProgramCode& before);

// From now on code of the program runs where its system calls are not seen (a callback that cannot be
// followed): everything is opened, and no guard is raised any more in this process.
void end_guarding();
bool guards_wanted();  // guards were started, and are not ended for good

// The driver's code: touches by it are the driver's, threads made by it are not the program's.
void set_driver_range(AddressRange range);
bool in_driver_code(uintptr_t instruction);
// As copy_if_there(), and faster: without the kernel where this thread's faults come to the agent.
bool copy_watched_if_there(void* to, const void* from, uint64_t bytes);
// Bytes of the calling thread's stack that lie below here; 0: it is on another stack, or not known.
uint64_t stack_left();
AddressRange thread_variables();  // of the calling thread, libc's among them: whole pages, never guarded

// A thread comes, is watched, is let go, and goes, all under the table's lock: another thread that tries to watch
// it from outside finds it in one of these states, and finds it there until it is done.
// Dispatch on, selector ALLOW. `stack_bytes`: of a thread that has just begun; 0: not known.
void register_this_thread(size_t stack_bytes = 0);
// Registered first where it is not, in one piece: a raise finds it watched, or not there. False: it could not be.
bool watch_this_thread(size_t stack_bytes = 0);
// Of these the caller holds the lock.
void unwatch_this_thread(ucontext_t* context);  // in a handler: the program's mask becomes the kernel's again
void end_dispatch();                            // of this thread, which goes on
void forget_this_thread();                      // its last system call, or after end_dispatch
void forget_threads_in_child();

void note_driver_thread();  // runs on it
void note_thread_coming();  // pthread_create is about to make a thread of the program
void note_thread_came();    // it is registered, or was not made
bool in_driver_now();       // for pthread_create: the thread about to be made is the driver's

struct Threads {
  Slot* slots;  // `count` of them, some free
  uint32_t count;
  uint32_t arrivals;  // threads registered so far
  bool known;         // no thread is on its way, and no other runs the program's code
};
Threads threads_now();
bool has_had_threads();  // the program made others than its first, be they still on their way

// Threads that pthread_create is making now, and was asked to make so far: of the program and of the driver.
struct ThreadsMade {
  uint32_t coming = 0, made = 0;
  bool operator==(const ThreadsMade&) const = default;
};
ThreadsMade threads_made();
void note_creation(bool ends);

// All under the table's lock.
bool all_threads_watched();  // tries to watch those that are not, now and then
bool no_foreign_threads();   // looks at /proc/self/task
bool in_pending_call(AddressRange range);
bool thread_memory(AddressRange pages);
void set_alternate_stack(Slot& slot, const stack_t& stack);

// Code that may be the program's runs on a thread that is not registered: nothing is stepped over from now
// on.
void note_callback();
// A signal's handler was set, or may have been set past us: so often.
inline std::atomic<uint32_t> action_changes{1};
inline void note_unseen_actions() { action_changes.fetch_add(1, std::memory_order_seq_cst); }
// Guards are refused from now on: a thread that cannot be watched, memory that the kernel or another process
// reaches by address at any time.
void refuse_for_good();
bool refused_for_good();

// The agent's part of a signal handler, on a stack of the agent's: the program's may be small. False: as
// `take` says, or it was interrupted itself.
using TakeSignal = bool (*)(siginfo_t* info, ucontext_t* context);
bool take_on_handler_stack(TakeSignal take, siginfo_t* info, ucontext_t* context);
// The calling thread is to run on a stack of so many bytes, 0: not known. What the kernel writes to a small one before our
// handlers run would reach beyond its end, so it gets an alternate stack of ours, unless it has one.
void leave_small_stack(size_t bytes);

// The ranges of the pending call on this thread.
void begin_call(Slot& slot, uintptr_t stack);
void add_range(Slot& slot, AddressRange range);
void end_calls(Slot& slot);

}  // namespace diogenes::agent
