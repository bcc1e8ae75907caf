#include "agent/watching/guard/threads/signals.h"

#include <errno.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>

#include "agent/watching/guard/guard_table.h"
#include "agent/watching/guard/sinks.h"
#include "agent/watching/guard/system_calls/undispatched_code.h"
#include "agent/watching/guard/threads/threads.h"

namespace diogenes::agent {

namespace {

constexpr int kSignals = 64;
constexpr int kOurs[] = {SIGSEGV, SIGBUS, SIGTRAP, SIGSYS};

KernelAction programs[kSignals + 1];  // of ours: the program's wish
SignalBits hidden[kSignals + 1];      // of the others: bits that were taken out of their masks
KernelAction ours[kSignals + 1];
uint32_t looked_at_change = 0;  // `action_changes` when has_handlers was found out; 0: never
bool has_handlers = false;
AddressRange libc_code;

bool on_alternate_stack(uintptr_t stack, const stack_t& alternate) {
  uintptr_t begin = reinterpret_cast<uintptr_t>(alternate.ss_sp);
  return !(alternate.ss_flags & SS_DISABLE) && stack > begin && stack - begin <= alternate.ss_size;
}

// A handler of the program's runs next. Where its alternate stack has no room for another signal's frame,
// none may come: no guard is up then, and its system calls are not dispatched.
bool let_go_for_room(ucontext_t* context) {
  static const uintptr_t needed = getauxval(AT_MINSIGSTKSZ) + 4096;
  const stack_t& alternate = context->uc_stack;
  auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (!guards_active() || !on_alternate_stack(here, alternate) ||
      here - reinterpret_cast<uintptr_t>(alternate.ss_sp) >= needed)
    return false;
  const auto let_go = [](siginfo_t*, ucontext_t* interrupted) {
    value_source->interrupted(interrupted);
    {
      Section section(Section::outside);  // a raise that did not see it has ended
      unwatch_this_thread(interrupted);
    }
    open_every_guard(TouchBy::given_up, Section::outside);
    return true;
  };
  const SignalBits mask = kernel_sigmask(SIG_SETMASK, kAllSignals & ~kFaultSignals);
  take_on_handler_stack(let_go, nullptr, context);  // there is no room for it here either
  kernel_sigmask(SIG_SETMASK, mask);
  return true;
}

// libc cancels a thread that waits by this signal, and from version 2.41 on only where it finds it at the
// `syscall` of its own bridge.
constexpr int kCancel = 32;
constexpr int kSetId = 33;                    // libc's own: all its handler does is a system call
std::atomic<uintptr_t> theirs[kSignals + 1];  // of the others: the handlers that ours stands in front of

void on_other(int signal, siginfo_t* info, void* opaque) {
  auto& registers = static_cast<ucontext_t*>(opaque)->uc_mcontext.gregs;
  // In a stub before its call, or before it starts again: as well at the site itself, and dispatched anew.
  if (signal == kCancel)
    if (uintptr_t site = site_of_stub(static_cast<uintptr_t>(registers[REG_RIP]))) {
      registers[REG_RIP] = static_cast<greg_t>(site - 2);
      if (Slot* slot = guard_thread.slot) slot->call_pending.store(0, std::memory_order_seq_cst);
    }
  leave_lock_call();
  // It may have interrupted the driver, whose system calls are not dispatched.
  ProgramCode before;
  enter_program_code(before);
  let_go_for_room(static_cast<ucontext_t*>(opaque));
  value_source->interrupted(nullptr);
  reinterpret_cast<Handler>(theirs[signal].load(std::memory_order_acquire))(signal, info, opaque);
  leave_program_code(before);
}

// Puts ours in front of a handler that is about to be set, or is.
void stand_before(int signal, KernelAction& action) {
  auto mine = reinterpret_cast<uintptr_t>(on_other);
  if (signal == kSetId || action.handler <= 1 || action.handler == mine) return;
  theirs[signal].store(action.handler, std::memory_order_release);
  action.handler = mine;
}

bool is_ours(long signal) { return std::find(std::begin(kOurs), std::end(kOurs), signal) != std::end(kOurs); }

int find_libc(dl_phdr_info* module, size_t, void*) {
  if (!module->dlpi_name || !strstr(module->dlpi_name, "/libc.so.")) return 0;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const auto& part = module->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && part.p_flags & PF_X)
      libc_code = AddressRange::of(module->dlpi_addr + part.p_vaddr, part.p_memsz);
  }
  return 1;
}

// glibc's handler of its own signal 33 (setuid and its relatives, on every thread) exists from the first
// thread on. That of 32 (cancellation) runs the program's code.
bool is_libcs_own(int signal, uintptr_t handler) { return signal == kSetId && libc_code.contains(handler); }

// The program's wishes; taken with all signals blocked.
class Wishes {
 public:
  Wishes() {
    mask_ = kernel_sigmask(SIG_SETMASK, kAllSignals);
    wiped.signals.lock();
  }
  ~Wishes() {
    wiped.signals.unlock();
    kernel_sigmask(SIG_SETMASK, mask_);
  }
  Wishes(const Wishes&) = delete;
  Wishes& operator=(const Wishes&) = delete;

 private:
  SignalBits mask_;
};

// Makes ours current; what was there, if it was not ours, is the program's.
bool install(int signal) {
  KernelAction before;
  if (kernel_sigaction(signal, nullptr, &before) != 0) return false;
  if (before.handler == ours[signal].handler) return true;
  programs[signal] = before;
  return kernel_sigaction(signal, &ours[signal], nullptr) == 0;
}

// Leaves no handler whose mask blocks the three while it runs.
void strip_masks() {
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (is_ours(signal)) continue;
    KernelAction action;
    if (kernel_sigaction(signal, nullptr, &action) != 0 || action.handler <= 1) continue;
    SignalBits bits = action.mask & kGuardSignals;
    KernelAction wanted = action;
    stand_before(signal, wanted);
    wanted.mask &= ~bits;
    if (wanted.handler == action.handler && !bits) continue;
    if (kernel_sigaction(signal, &wanted, nullptr) == 0) hidden[signal] = bits;
  }
}

// The signal comes to this thread once more, with what the kernel says of it.
void send_again(int signal, siginfo_t* info, bool comes_again) {
  if (!comes_again)
    raw_syscall(SYS_rt_tgsigqueueinfo, raw_syscall(SYS_getpid), kernel_thread_id(), signal, info);
}

// Does ours run on the alternate stack?
void set_on_stack(int signal, bool on_alternate) {
  ours[signal].flags = (ours[signal].flags & ~uint64_t{SA_ONSTACK}) | (on_alternate ? SA_ONSTACK : 0);
  kernel_sigaction(signal, &ours[signal], nullptr);
}

// The program's handler asked for the stack that was interrupted, and ours runs on the alternate one. Guarding ends, and the
// signal comes again, with ours on the stack that the program's asked for.
void end_guarding_for_stack(int signal) {
  end_guarding();
  Wishes lock;
  set_on_stack(signal, false);
}

// Dies of `signal` as the program would have: with its own exit status and core.
void die_of(int signal, siginfo_t* info, ucontext_t* context, bool comes_again) {
  Undispatched undispatched;
  open_every_guard(TouchBy::given_up, Section::outside);
  KernelAction standard;
  kernel_sigaction(signal, &standard, nullptr);
  frame_mask(context) &= ~signal_bit(signal);
  send_again(signal, info, comes_again);
}

}  // namespace

bool take_signals(Handler on_fault, Handler on_trap, Handler on_sys) {
  dl_iterate_phdr(find_libc, nullptr);
  Wishes lock;
  note_unseen_actions();
  const Handler handlers[] = {on_fault, on_fault, on_trap, on_sys};
  for (int i = 0; i < 4; ++i) {
    KernelAction& action = ours[kOurs[i]];
    action.handler = reinterpret_cast<uintptr_t>(handlers[i]);
    // Faults stay open inside: diogenes_copy may meet memory that is not there.
    action.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER | kSaRestorer;
    action.restorer = reinterpret_cast<uintptr_t>(diogenes_restorer);
    action.mask = kAllSignals & ~kFaultSignals;
  }
  for (int i = 0; i < 4; ++i) {
    if (install(kOurs[i])) continue;
    while (i-- > 0) kernel_sigaction(kOurs[i], &programs[kOurs[i]], nullptr);
    return false;
  }
  strip_masks();
  return true;
}

void reclaim_signals() {
  KernelAction now;
  bool changed = false;
  for (int signal : kOurs)
    changed |= kernel_sigaction(signal, nullptr, &now) == 0 && now.handler != ours[signal].handler;
  if (!changed) return;
  Wishes lock;
  note_unseen_actions();
  for (int signal : kOurs) install(signal);
  strip_masks();
}

void give_back_signals() {
  for (int signal : kOurs) {
    KernelAction now;
    if (kernel_sigaction(signal, nullptr, &now) == 0 && now.handler == ours[signal].handler)
      kernel_sigaction(signal, &programs[signal], nullptr);
  }
  for (int signal = 1; signal <= kSignals; ++signal) {
    KernelAction action;
    if (is_ours(signal) || kernel_sigaction(signal, nullptr, &action) != 0 || action.handler <= 1) continue;
    if (action.handler == reinterpret_cast<uintptr_t>(on_other)) action.handler = theirs[signal];
    action.mask |= hidden[signal];
    kernel_sigaction(signal, &action, nullptr);
    hidden[signal] = 0;
  }
  if (guard_thread.hidden_mask) kernel_sigmask(SIG_BLOCK, guard_thread.hidden_mask);
}

long program_sigaction(int signal, const void* action, void* old, size_t set_bytes) {
  if (set_bytes != sizeof(SignalBits) || signal < 1 || signal > kSignals) return -EINVAL;
  KernelAction wanted, before;
  if (action && !diogenes_copy(&wanted, action, sizeof wanted)) return -EFAULT;
  if (is_ours(signal)) {
    Wishes lock;
    if (action) note_unseen_actions();
    before = programs[signal];
    if (action) {
      wanted.mask &= ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP));
      programs[signal] = wanted;
      if (!(ours[signal].flags & SA_ONSTACK)) set_on_stack(signal, true);
    }
  } else {
    Wishes lock;
    if (action) note_unseen_actions();  // before it is in force
    SignalBits bits = wanted.mask & kGuardSignals;
    wanted.mask &= ~bits;
    uintptr_t now = theirs[signal].load(std::memory_order_relaxed);
    if (action) stand_before(signal, wanted);
    long result = kernel_sigaction(signal, action ? &wanted : nullptr, &before);
    if (result != 0) return result;
    before.mask |= hidden[signal];
    if (before.handler == reinterpret_cast<uintptr_t>(on_other)) before.handler = now;
    if (action) hidden[signal] = bits;
  }
  return old && !diogenes_copy(old, &before, sizeof before) ? -EFAULT : 0;
}

bool program_has_handlers(uint32_t& at) {
  Wishes lock;
  at = action_changes.load(std::memory_order_seq_cst);
  if (at == looked_at_change) return has_handlers;
  has_handlers = false;
  for (int signal = 1; signal <= kSignals && !has_handlers; ++signal) {
    KernelAction action = programs[signal];
    if (!is_ours(signal)) kernel_sigaction(signal, nullptr, &action);
    has_handlers = action.handler > 1 && !is_libcs_own(signal, action.handler);
  }
  looked_at_change = at;
  return has_handlers;
}

long program_sigprocmask(ucontext_t* context, int how, const void* set, void* old, size_t set_bytes) {
  if (set_bytes != sizeof(SignalBits)) return -EINVAL;
  SignalBits& kernel = frame_mask(context);
  SignalBits before = kernel | guard_thread.hidden_mask, bits = 0;
  if (set) {
    if (!diogenes_copy(&bits, set, sizeof bits)) return -EFAULT;
    bits &= ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP));
    SignalBits after = before;
    switch (how) {
      case SIG_BLOCK:
        after |= bits;
        break;
      case SIG_UNBLOCK:
        after &= ~bits;
        break;
      case SIG_SETMASK:
        after = bits;
        break;
      default:
        return -EINVAL;
    }
    kernel = after & ~kGuardSignals;
    guard_thread.hidden_mask = after & kGuardSignals;
  }
  return old && !diogenes_copy(old, &before, sizeof before) ? -EFAULT : 0;
}

void deliver_to_program(int signal, siginfo_t* info, ucontext_t* context) {
  // Where no thread is watched (a forked child), the kernel's masks are the program's.
  SignalBits keep_open = guards_active() && !let_go_for_room(context) ? kGuardSignals : 0;
  SignalBits& hidden_now = guard_thread.hidden_mask;
  bool forced = info->si_code > 0;  // by the kernel, for what the thread did
  bool comes_again = forced && (signal_bit(signal) & kFaultSignals) != 0 && info->si_code != BUS_MCEERR_AO;
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const auto interrupted = static_cast<uintptr_t>(context->uc_mcontext.gregs[REG_RSP]);
  const bool left_stack =
      on_alternate_stack(here, context->uc_stack) && !on_alternate_stack(interrupted, context->uc_stack);
  KernelAction action;
  bool elsewhere;
  {
    Wishes lock;
    action = programs[signal];
    const bool calls = action.handler > 1 && !(forced && hidden_now & signal_bit(signal));
    elsewhere = calls && left_stack && !(action.flags & SA_ONSTACK);
    if (calls && !elsewhere && action.flags & SA_RESETHAND) programs[signal].handler = 0;
  }
  if (elsewhere) {
    end_guarding_for_stack(signal);
    return send_again(signal, info, comes_again);
  }
  if (action.handler == 1 && !forced) return;
  if (action.handler <= 1 || (forced && hidden_now & signal_bit(signal))) {
    die_of(signal, info, context, comes_again);
    return;
  }
  leave_lock_call();
  value_source->interrupted(nullptr);
  SignalBits blocked = frame_mask(context) | hidden_now | action.mask;
  if (!(action.flags & SA_NODEFER)) blocked |= signal_bit(signal);
  frame_mask(context) |= hidden_now;  // what the program sees, and may change
  hidden_now = blocked & keep_open;
  kernel_sigmask(SIG_SETMASK, blocked & ~keep_open);
  reinterpret_cast<Handler>(action.handler)(signal, info, context);
  kernel_sigmask(SIG_SETMASK, kAllSignals & ~kFaultSignals);
  hidden_now = frame_mask(context) & keep_open;
  frame_mask(context) &= ~keep_open;
}

}  // namespace diogenes::agent
