#include "agent/watching/guard/faults/fault.h"

#include <errno.h>

#include <algorithm>

#include "agent/core/stacks/stack.h"
#include "agent/core/thread_state.h"
#include "agent/watching/guard/faults/bystanders.h"
#include "agent/watching/guard/faults/instruction.h"
#include "agent/watching/guard/faults/threads_at_rest.h"
#include "agent/watching/guard/guard_table.h"
#include "agent/watching/guard/sinks.h"
#include "agent/watching/guard/system_calls/undispatched_code.h"
#include "agent/watching/guard/threads/signals.h"
#include "agent/watching/guard/threads/threads.h"
#include "agent/watching/guard/watchpoints/watch_guards.h"

namespace diogenes::agent {

namespace {

constexpr greg_t kTrapFlag = 0x100;
constexpr int kAccessError = 2;        // SEGV_ACCERR
constexpr int kTraced = 2;             // TRAP_TRACE
constexpr Nanoseconds kSignal{3'000};  // that a handler is entered and left

struct Fault {
  uintptr_t address;
  AddressRange page;
  bool write;
  Reach reach;
  AddressRange operands[3];  // the bytes that may be touched: at the address, and of a string instruction
  int operand_count;
  uint64_t repeats;  // of a string instruction, on this page
};

// What a fault or a trap takes of the program's time: on a virtual machine a step may take 20 us.
struct Spent {
  Nanoseconds begin, around;  // around: what the kernel takes before and after
  int64_t awaited_ns = guard_thread.awaited_ns;
  ~Spent() {
    if (!deferred_waits) return;
    const Nanoseconds took = monotonic_now() - begin + around;
    deferred_waits->spent({took.count - (guard_thread.awaited_ns - awaited_ns)});
  }
};

// A repeated string instruction goes on through the page: a trap would come after each element.
void extend_repeated(Fault& fault, const greg_t (&registers)[NGREG]) {
  constexpr greg_t kBackwards = 1 << 10;
  const uint64_t size = fault.reach.element, count = static_cast<uint64_t>(registers[REG_RCX]);
  const auto at_address = [&](int pointer) {
    return fault.address - static_cast<uintptr_t>(registers[pointer]) < size;
  };
  if (size == 0 || count == 0 || !(at_address(REG_RDI) || at_address(REG_RSI))) return;
  AddressRange& reached = fault.operands[0];
  const bool backwards = registers[REG_EFL] & kBackwards;
  const uint64_t left = backwards ? fault.address - fault.page.begin + 1 : fault.page.end - fault.address;
  fault.repeats = std::min(count, left / size + 1);
  const uint64_t bytes = std::min(left, fault.repeats * size);
  reached = backwards ? AddressRange{fault.address + 1 - bytes, reached.end}
                      : AddressRange{reached.begin, std::max(reached.end, fault.address + bytes)};
}

Fault describe(siginfo_t* info, ucontext_t* context) {
  Fault fault{};
  auto& registers = context->uc_mcontext.gregs;
  fault.address = reinterpret_cast<uintptr_t>(info->si_addr);
  fault.page = {fault.address & ~(kPageSize - 1), (fault.address & ~(kPageSize - 1)) + kPageSize};
  fault.write = registers[REG_ERR] & 2;
  uint8_t code[15];
  uint32_t length = sizeof code;
  auto instruction = static_cast<uintptr_t>(registers[REG_RIP]);
  while (length > 0 && !diogenes_copy(code, reinterpret_cast<const void*>(instruction), length)) {
    // Code ends at a page that cannot be read; this much of it can.
    uint32_t left = static_cast<uint32_t>(kPageSize - instruction % kPageSize);
    length = left < length ? left : 0;
  }
  fault.reach = reach_of(code, length);
  fault.operands[fault.operand_count++] = AddressRange::of(fault.address, fault.reach.bytes);
  if (fault.reach.string) {
    for (int pointer : {REG_RSI, REG_RDI}) {
      // Backwards too (DF): each step moves one element, here of 8 bytes at most.
      fault.operands[fault.operand_count++] = AddressRange::of(static_cast<uintptr_t>(registers[pointer]), 8);
    }
    extend_repeated(fault, registers);
  }
  return fault;
}

bool conflicts(const Guard& guard, bool write) { return guard.protection == Protection::no_access || write; }

bool touches(const Guard& guard, const Fault& fault) {
  if (guard.range.contains(fault.address)) return conflicts(guard, fault.write);
  for (int i = 0; i < fault.operand_count; ++i)
    if (guard.range.overlaps(fault.operands[i]) && (i > 0 || conflicts(guard, fault.write))) return true;
  return false;
}

// A step costs as much as thousands of plain accesses: a guard has 64, and half as many each time that one over the page used up
// its own. Pages whose place is another's, too, have fewer. Under the table's lock.
constexpr uint32_t kMostSteps = 64;
uint8_t used_up[1 << 14];

uint8_t& times_used_up(uintptr_t page) {
  return used_up[(page / kPageSize * 0x9e3779b97f4a7c15ull >> 32) % sizeof used_up];
}

uint32_t marked[kMaximumGuards];  // under the table's lock

// Under the table's lock: the guards over this page, whatever they forbid, are as good as touched.
void expose_page(uintptr_t page) {
  uint32_t count = 0;
  for (uint32_t id : pages_closed_over({page, page + kPageSize})) marked[count++] = id;
  mark_touched_and_open({marked, count}, {TouchBy::exposed, Access::unknown, monotonic_now(), page, 0});
}

void end_step(ucontext_t* context) {
  Step& step = guard_thread.step;
  if (step.count == 0) return;
  const auto last_page = [&step] { return AddressRange::of(step.pages[step.count - 1], kPageSize); };
  {
    Section section(Section::in_handler);
    for (uint32_t i = 0; i < step.count; ++i) protect_pages({step.pages[i], step.pages[i] + kPageSize});
    if (end_rest_check()) step.count = 0;
    for (; step.count > 0; --step.count) {
      if (deferred_waits && deferred_waits->latest_over(last_page()) != 0) break;
      expose_page(last_page().begin);
    }
  }
  // What a guard was deferred for meanwhile comes before it falls.
  for (; step.count > 0; --step.count) open_guards(last_page(), TouchBy::exposed, Section::in_handler);
  if (!step.flag) context->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  frame_mask(context) = step.mask;
}

// Under the table's lock. False: this access cannot be stepped over.
bool begin_step(const Fault& fault, ucontext_t* context) {
  GuardThread& me = guard_thread;
  Step& step = me.step;
  if ((!me.slot && !me.driver) || step.count == kStepPages || fault.reach.anywhere) return false;
  for (uint32_t i = 0; i < step.count; ++i)
    if (step.pages[i] == fault.page.begin) return false;
  if (!begin_rest_check()) return false;
  if (kernel_mprotect(fault.page.begin, kPageSize, PROT_READ | PROT_WRITE) != 0) {
    if (step.count == 0) end_rest_check();
    return false;
  }
  if (step.count == 0) {
    // No handler of the program's may run while the page is open; what comes waits for the step's end.
    step.flag = context->uc_mcontext.gregs[REG_EFL] & kTrapFlag;
    step.mask = frame_mask(context);
    context->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
    frame_mask(context) = kAllSignals & ~kGuardSignals;
    step.began = monotonic_now();
  }
  step.pages[step.count++] = fault.page.begin;
  return true;
}

// The page is not guarded any more: another thread opened it between the fault and this. The instruction is
// tried again, once for every opening; a fault that stays is the program's.
bool came_late(const Fault& fault, const ucontext_t* context) {
  GuardThread& me = guard_thread;
  uint32_t now = openings.load(std::memory_order_seq_cst);
  auto instruction = static_cast<uintptr_t>(context->uc_mcontext.gregs[REG_RIP]);
  if (now == 0) return false;
  if (me.late_openings == now && me.late_instruction == instruction && me.late_address == fault.address)
    return false;
  me.late_openings = now, me.late_instruction = instruction, me.late_address = fault.address;
  return true;
}

// False: the fault is the program's. `value`: what was read, if anything was.
bool take_fault(siginfo_t* info, ucontext_t* context, TouchedValue& value) {
  auto& registers = context->uc_mcontext.gregs;
  if (info->si_code != kAccessError || registers[REG_ERR] & 16)
    return false;  // not a matter of protection; a jump there
  Undispatched undispatched;
  if (thread_state.owes_order) guard_sinks.write_owed_order();
  Fault fault = describe(info, context);
  // The driver's own threads: the program's code on them has a slot (enter_program_code).
  bool driver = in_driver_now() || (guard_thread.driver && !guard_thread.slot) ||
                in_driver_code(static_cast<uintptr_t>(registers[REG_RIP]));
  if (!driver && !guard_thread.slot && !guard_thread.driver) note_callback();
  Touch touch{driver ? TouchBy::driver : TouchBy::program,
              fault.write ? Access::write : Access::read,
              {},
              fault.address,
              0};
  bool touched = false;
  {
    Section section(Section::in_handler);
    uint32_t concerned = 0;
    for (uint32_t id : pages_closed_over(fault.page)) {
      const Guard& guard = *guard_at(id);
      touched |= touches(guard, fault);
      concerned += conflicts(guard, fault.write);
    }
    if (concerned == 0) return came_late(fault, context);
  }
  // Outside of the lock: walking takes long. Another thread may be the first after all; then this walk was
  // for nothing.
  const Nanoseconds came = monotonic_now();
  if (touched) touch.stack = capture_interrupted_stack(context);
  if (touched && !driver) await_bystanders();
  touch.at = monotonic_now();
  touch.held = touch.at - came;
  Section section(Section::in_handler, fault.page);
  uint32_t count = 0;
  GuardList near = pages_closed_over(fault.page);
  for (uint32_t id : near)
    if (touches(*guard_at(id), fault)) marked[count++] = id;
  if (count == 0) {
    bool spent = false;
    uint8_t& halvings = times_used_up(fault.page.begin);
    const uint32_t allowed = kMostSteps >> halvings;
    for (uint32_t id : near) spent |= ++guard_at(id)->steps + fault.repeats > allowed;
    if (spent && allowed > 0) ++halvings;
    // The driver's code goes on to system calls that are not looked at: a lock beside the range must not close again.
    if (!spent && !driver && near.count > 0 && begin_step(fault, context)) return true;
    touch.by = TouchBy::exposed;
    touch.stack = 0;
    for (uint32_t id : near)
      if (conflicts(*guard_at(id), fault.write)) marked[count++] = id;
  }
  AddressRange range = count > 0 ? guard_at(marked[0])->range : AddressRange{};
  mark_touched_and_open({marked, count}, touch);
  value = {range, fault.address, touch.stack, touch.came().count, 0};
  if (touch.by != TouchBy::program || fault.write) value.range = {};
  return true;
}

bool take_trap(siginfo_t* info, ucontext_t* context) {
  KeepErrno keep;
  Undispatched undispatched;
  // The time since a step began has the kernel's in it.
  const bool steps = guard_thread.step.count > 0;
  const Spent spent{steps ? guard_thread.step.began : monotonic_now(), steps ? Nanoseconds{} : kSignal};
  bool watched = take_watch_trap(info, context);
  // The kernel keeps one SIGTRAP for a thread: that of a watchpoint stands for the step's, too.
  if (guard_thread.step.count == 0 || !(watched || info->si_code == kTraced))
    return value_source->trap(info, context) || watched;
  end_step(context);
  if (!guard_thread.step.flag || value_source->trap(info, context)) return true;
  if (watched) {
    *info = {};
    info->si_signo = SIGTRAP;
    info->si_code = kTraced;
    info->si_addr = reinterpret_cast<void*>(context->uc_mcontext.gregs[REG_RIP]);
  }
  return false;
}

}  // namespace

void on_fault(int signal, siginfo_t* info, void* opaque) {
  auto* context = static_cast<ucontext_t*>(opaque);
  auto instruction = static_cast<uintptr_t>(context->uc_mcontext.gregs[REG_RIP]);
  if (info->si_code > 0 && recover_copy(instruction)) {
    context->uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(instruction);
    return;
  }
  auto take = [](siginfo_t* told, ucontext_t* interrupted) {
    KeepErrno keep;
    const Spent spent{monotonic_now(), kSignal};
    TouchedValue value{};
    if (told->si_signo == SIGSEGV && take_fault(told, interrupted, value)) {
      Undispatched undispatched;
      if (!value.range.empty()) value_source->touched(value, interrupted);
      return true;
    }
    end_step(interrupted);
    return false;
  };
  if (!take_on_handler_stack(take, info, context)) deliver_to_program(signal, info, context);
}

void on_trap(int signal, siginfo_t* info, void* opaque) {
  auto* context = static_cast<ucontext_t*>(opaque);
  if (!take_on_handler_stack(take_trap, info, context)) deliver_to_program(signal, info, context);
}

}  // namespace diogenes::agent
