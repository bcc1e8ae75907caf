// A dispatched call is looked at, its memory opened, and then made by the program itself from a stub
// (undispatched_code.cc); only rt_sigaction and rt_sigprocmask are done here, because what they change is
// kept here (signals.h).
#include "agent/watching/guard/system_calls/dispatch.h"

#include <errno.h>
#include <linux/audit.h>
#include <sched.h>

#include "agent/core/recording/recorder.h"
#include "agent/core/thread_state.h"
#include "agent/watching/guard/releases.h"
#include "agent/watching/guard/sinks.h"
#include "agent/watching/guard/system_calls/odd_calls.h"
#include "agent/watching/guard/system_calls/syscall_memory.h"
#include "agent/watching/guard/threads/signals.h"

namespace diogenes::agent {

namespace {

constexpr int kUserDispatch = 2;  // SYS_USER_DISPATCH

AddressRange memory(uint64_t begin, uint64_t bytes) {
  uint64_t most = ~uint64_t{0} - begin;
  return AddressRange::of(begin, bytes < most ? bytes : most).pages();
}

void set_result(Dispatched& call, long result) { call.context->uc_mcontext.gregs[REG_RAX] = result; }

// Until this thread's next step no guard is raised: a child may share or copy this memory.
void begin_fork(Slot& slot) {
  if (!slot.forking.exchange(1)) wiped.forking.fetch_add(1, std::memory_order_seq_cst);
  give_up_everything();
}

// The call is made here where somebody follows what it releases; else it is still to be made, and guards come down.
void release(Dispatched& call, AddressRange range, bool destroys = true) {
  long result = 0;
  const auto stack = static_cast<uintptr_t>(call.context->uc_mcontext.gregs[REG_RSP]);
  // A record that needs a new part of its file gives back the old one, maybe under the collector's lock; and the signal's
  // frame lies on the alternate stack.
  if (is_appending() || range.overlaps(call.slot.own_memory[2]) ||
      !make_release(call.number, call.arguments, range, destroys, stack, &result))
    return open_guards(range, destroys ? TouchBy::gone : TouchBy::exposed, Section::in_handler);
  set_result(call, result);
  call.done = true;
}

void note_rights(AddressRange pages, int rights) {
  if (pages.empty()) return;
  Section section(Section::in_handler);
  if (rights == (PROT_READ | PROT_WRITE))
    other_rights.remove(pages);
  else
    other_rights.add(pages);
}

void before_fork(Dispatched& call) {
  call.stub = Stub::plain;  // the child comes back through it too, on whatever thread-local storage
  uint64_t flags = 0;
  if (call.number == SYS_clone) flags = call.arguments[0];
  if (call.number == SYS_clone3) {
    use_memory(call, memory(call.arguments[0], call.arguments[1]), Access::read);
    if (call.arguments[1] >= sizeof flags &&
        !diogenes_copy(&flags, reinterpret_cast<const void*>(call.arguments[0]), sizeof flags))
      flags = 0;
  }
  bool shares_memory = (flags & CLONE_VM) && !(flags & CLONE_VFORK);
  if (flags & CLONE_THREAD ? guard_thread.creating == 0
                           : shares_memory)  // another that uses this memory unseen
    give_up_for_good();
  if (!(flags & CLONE_THREAD)) begin_fork(call.slot);
}

void before_call(Dispatched& call) {
  const auto& arguments = call.arguments;
  const SyscallEntry& entry = syscall_entry(call.number);
  uintptr_t stack = static_cast<uintptr_t>(call.context->uc_mcontext.gregs[REG_RSP]);
  if (entry.action == Action::sigreturn) {
    // The stub leaves nothing to clear, and what a handler interrupted goes on with its ranges.
    call.stub = Stub::plain;
    SignalBits mask = 0;
    auto* frame =
        reinterpret_cast<char*>(stack) + 296;  // rt_sigframe.uc.uc_sigmask, the return address popped
    if (diogenes_copy(&mask, frame, sizeof mask)) {
      guard_thread.hidden_mask |= mask & kGuardSignals;
      mask &= ~kGuardSignals;
      diogenes_copy(frame, &mask, sizeof mask);
    }
    return;
  }
  begin_call(call.slot, stack);
  if (entry.action == Action::unknown) {
    if (call.number == SYS_execve || call.number == SYS_execveat) {
      call.stub = Stub::plain;
      begin_fork(call.slot);
      return;
    }
    switch (call.number) {
      // From then on the kernel uses memory whenever it likes, or another process does (and does the same to
      // us).
      case SYS_io_uring_setup:
      case SYS_io_uring_enter:  // of a ring from before the guards
      case SYS_io_uring_register:
      case SYS_io_setup:
      case SYS_io_submit:
      case SYS_userfaultfd:
      case SYS_vmsplice:
      case SYS_remap_file_pages:  // or the same pages come to lie in two places
      case SYS_process_vm_readv:
      case SYS_process_vm_writev:
        refuse_for_good();
        break;
      default:
        break;
    }
    hold_everything_off(call);
    return;
  }
  for_each_piece(entry, arguments, diogenes_copy, [&](AddressRange range, Access access) {
    use_memory(call, range, access);
    return true;
  });
  switch (entry.action) {
    case Action::set_mask:
      use_memory(call, AddressRange::of(arguments[1], sizeof(SignalBits)), Access::read);
      use_memory(call, AddressRange::of(arguments[2], sizeof(SignalBits)), Access::write);
      set_result(call, program_sigprocmask(call.context, static_cast<int>(arguments[0]),
                                           reinterpret_cast<const void*>(arguments[1]),
                                           reinterpret_cast<void*>(arguments[2]), arguments[3]));
      call.done = true;
      break;
    case Action::set_action:
      use_memory(call, AddressRange::of(arguments[1], sizeof(KernelAction)), Access::read);
      use_memory(call, AddressRange::of(arguments[2], sizeof(KernelAction)), Access::write);
      set_result(
          call, program_sigaction(static_cast<int>(arguments[0]), reinterpret_cast<const void*>(arguments[1]),
                                  reinterpret_cast<void*>(arguments[2]), arguments[3]));
      call.done = true;
      break;
    case Action::wait_with_mask: {
      int position = call.number == SYS_rt_sigsuspend ? 0
                     : call.number == SYS_ppoll       ? 3
                     : call.number == SYS_pselect6    ? 5
                                                      : 4;
      uint64_t at = arguments[position];
      if (call.number == SYS_pselect6 && at &&
          !diogenes_copy(&at, reinterpret_cast<const void*>(at), sizeof at))
        at = 0;
      SignalBits mask = 0;
      if (!at) break;
      use_memory(call, AddressRange::of(at, sizeof mask), Access::read);
      if (diogenes_copy(&mask, reinterpret_cast<const void*>(at), sizeof mask) && mask & kGuardSignals)
        let_go(call);
      break;
    }
    case Action::alternate_stack: {
      stack_t stack_asked;
      if (arguments[0] &&
          diogenes_copy(&stack_asked, reinterpret_cast<const void*>(arguments[0]), sizeof stack_asked)) {
        AddressRange pages = memory(reinterpret_cast<uint64_t>(stack_asked.ss_sp), stack_asked.ss_size);
        {
          Section section(Section::in_handler);
          set_alternate_stack(call.slot, stack_asked);
        }
        // The kernel writes its frames there: not a page of it may be closed.
        if (!(stack_asked.ss_flags & SS_DISABLE)) use_memory(call, pages, Access::write);
      }
      break;
    }
    case Action::fork_like:
      before_fork(call);
      break;
    case Action::end_thread:
      before_end_of_thread();
      call.stub = Stub::plain;
      break;
    case Action::release:
      note_rights(memory(arguments[0], arguments[1]), PROT_READ | PROT_WRITE);
      release(call, memory(arguments[0], arguments[1]));
      break;
    case Action::remap:  // the content goes on living elsewhere
      // A second mapping of the same pages, or the first without them: what is done there is not seen.
      if (arguments[1] == 0 || arguments[3] & MREMAP_DONTUNMAP) give_up_for_good();
      open_guards(memory(arguments[0], arguments[1]), TouchBy::system_call, Section::in_handler);
      if (arguments[3] & MREMAP_FIXED)
        open_guards(memory(arguments[4], arguments[2]), TouchBy::gone, Section::in_handler);
      break;
    case Action::map:
      if (arguments[3] & MAP_FIXED && arguments[3] & MAP_ANONYMOUS)
        note_rights(memory(arguments[0], arguments[1]), static_cast<int>(arguments[2]));
      if (arguments[3] & MAP_FIXED) release(call, memory(arguments[0], arguments[1]));
      break;
    case Action::reprotect:
      use_memory(call, memory(arguments[0], arguments[1]), Access::write);
      set_result(call, raw_syscall(call.number, arguments[0], arguments[1], arguments[2], arguments[3]));
      call.done = true;
      if (call.context->uc_mcontext.gregs[REG_RAX] == 0)
        note_rights(memory(arguments[0], arguments[1]), static_cast<int>(arguments[2]));
      break;
    case Action::advise:
      if (const auto advice = static_cast<int>(arguments[2]); advice_reaches_pages(advice))
        release(call, memory(arguments[0], arguments[1]), advice_destroys(advice));
      break;
    case Action::move_break: {
      auto now = static_cast<uint64_t>(raw_syscall(SYS_brk, 0));
      if (arguments[0] && arguments[0] < now)
        open_guards(memory(arguments[0], now - arguments[0]), TouchBy::gone, Section::in_handler);
      break;
    }
    case Action::control:
      before_control(call);
      break;
    case Action::futex:
      before_futex(call);
      break;
    case Action::closes:
      before_closing(call);
      break;
    case Action::open:
      before_opening(call);
      break;
    default:
      break;
  }
}

void take_call(siginfo_t* info, ucontext_t* context, Slot& slot) {
  auto& registers = context->uc_mcontext.gregs;
  Dispatched call{context,
                  slot,
                  static_cast<long>(registers[REG_RAX]),
                  {static_cast<uint64_t>(registers[REG_RDI]), static_cast<uint64_t>(registers[REG_RSI]),
                   static_cast<uint64_t>(registers[REG_RDX]), static_cast<uint64_t>(registers[REG_R10]),
                   static_cast<uint64_t>(registers[REG_R8]), static_cast<uint64_t>(registers[REG_R9])},
                  static_cast<uintptr_t>(registers[REG_RIP])};
  uintptr_t stub = 0;
  {
    Undispatched undispatched;
    if (slot.forking.load(std::memory_order_relaxed) && slot.forking.exchange(0))
      wiped.forking.fetch_sub(1, std::memory_order_seq_cst);
    if (info->si_arch == AUDIT_ARCH_X86_64) {
      if (thread_state.owes_order) guard_sinks.write_owed_order();
      before_call(call);
      if (!call.done) stub = stub_for(call.site, call.stub);
    }
    if (stub == 0 && !call.done) {
      registers[REG_RIP] -= 2;  // again, past us: int $0x80, or too many sites
      let_go(call);
    }
  }
  if (call.stub == Stub::plain || call.done || stub == 0) {
    // No stub will clear it. A sigreturn leaves it to the call that it goes back to.
    if (syscall_entry(call.number).action != Action::sigreturn)
      slot.call_pending.store(0, std::memory_order_relaxed);
  }
  if (stub != 0) {
    registers[REG_RIP] = static_cast<greg_t>(stub);
    registers[REG_RCX] = static_cast<greg_t>(stub + kAfterSyscall);
  }
}

}  // namespace

void on_sys(int signal, siginfo_t* info, void* opaque) {
  auto* context = static_cast<ucontext_t*>(opaque);
  Slot* slot = guard_thread.slot;
  if (info->si_code != kUserDispatch || !slot) return deliver_to_program(signal, info, context);
  KeepErrno keep;
  const bool ending = syscall_entry(context->uc_mcontext.gregs[REG_RAX]).action == Action::end_thread;
  auto take = [](siginfo_t* told, ucontext_t* interrupted) {
    take_call(told, interrupted, *guard_thread.slot);
    return true;
  };
  take_on_handler_stack(take, info, context);
  if (!ending) return;
  Section section(Section::in_handler);
  forget_this_thread();  // its slot is the next thread's, with the stack that was just left
}

}  // namespace diogenes::agent
