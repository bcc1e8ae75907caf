#include "values/follower.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "values/decoder.h"
#include "values/follow.h"
#include "values/previous.h"
#include "values/register_place.h"
#include "values/transfer.h"

namespace diogenes::values {

namespace {

constexpr greg_t kTrapFlag = 0x100;
constexpr int kTraced = 2;        // TRAP_TRACE
constexpr int kWithoutCause = 1;  // TRAP_BRKPT: the processor named none, as a virtual one may
constexpr int kFollows = 64;

Services services{};
Follow follows[kFollows];
std::atomic<int64_t> spent{0};  // ns of single-stepping

// Of the calling thread: the value that is followed now, and the one of which a copy is watched.
constinit thread_local __attribute__((tls_model("initial-exec"))) Follow* current = nullptr;
constinit thread_local __attribute__((tls_model("initial-exec"))) Follow* waiting = nullptr;
// It was stepped when a handler of the program's interrupted it, and what was followed then is not any more: when the
// handler returns, the trap flag is set again, for nobody. That trap would kill a program without a handler for it.
constinit thread_local __attribute__((tls_model("initial-exec"))) bool left_behind = false;

greg_t& flags_of(ucontext_t* context) { return context->uc_mcontext.gregs[REG_EFL]; }
uintptr_t instruction_of(const ucontext_t* context) {
  return static_cast<uintptr_t>(context->uc_mcontext.gregs[REG_RIP]);
}
uintptr_t stack_of(const ucontext_t* context) {
  return static_cast<uintptr_t>(context->uc_mcontext.gregs[REG_RSP]);
}

template <typename T>
bool read_memory(uintptr_t address, T& to) {
  return services.copy(&to, reinterpret_cast<const void*>(address), sizeof to);
}

int64_t now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  services.system_call(SYS_clock_gettime, clock, reinterpret_cast<long>(&time), 0, 0, 0, 0);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

uint32_t thread_id() { return static_cast<uint32_t>(services.system_call(SYS_gettid, 0, 0, 0, 0, 0, 0)); }

// Somebody else's single steps would meet ours.
bool is_debugged() {
  char text[1024] = {};
  const long file = services.system_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/status"),
                                         O_RDONLY | O_CLOEXEC, 0, 0, 0);
  if (file < 0) return true;
  services.system_call(SYS_read, file, reinterpret_cast<long>(text), sizeof text - 1, 0, 0, 0);
  services.system_call(SYS_close, file, 0, 0, 0, 0, 0);
  const char* tracer = strstr(text, "TracerPid:\t");
  return !tracer || tracer[11] != '0';
}

// Which touches of a place are followed: the 1st to 4th, the 8th, the 16th, and so on.
struct PlaceCount {
  std::atomic<uint32_t> stack{0}, touches{0}, followed{0};
};
PlaceCount places[256];

bool has_turn(uint32_t stack) {
  uint32_t at = stack * 0x9e3779b9u >> 24;
  for (int tries = 0; tries < 256; ++tries, at = (at + 1) % 256) {
    uint32_t free = 0;
    if (places[at].stack.load(std::memory_order_relaxed) != stack &&
        !places[at].stack.compare_exchange_strong(free, stack, std::memory_order_relaxed) && free != stack)
      continue;
    const uint32_t turn = places[at].touches.fetch_add(1, std::memory_order_relaxed) + 1;
    return (turn <= 4 || (turn & (turn - 1)) == 0) &&
           places[at].followed.fetch_add(1, std::memory_order_relaxed) < kMostOfPlace;
  }
  return false;
}

void give_back(Follow& follow) {
  follow.debug_register.off(services);
  if (current == &follow) current = nullptr;
  if (waiting == &follow) waiting = nullptr;
  follow.state = State::free;
  follow.thread.store(0, std::memory_order_release);  // pairs with take()
}

void conclude(Follow& follow, ValueUse use, ucontext_t* context);

Follow* take() {
  const uint32_t me = thread_id();
  for (Follow& follow : follows) {
    uint32_t owner = follow.thread.load(std::memory_order_relaxed);
    // One of a thread that has ended in the middle.
    if (owner != 0 && services.system_call(SYS_tgkill, services.system_call(SYS_getpid, 0, 0, 0, 0, 0, 0),
                                           owner, 0, 0, 0, 0) != -ESRCH)
      continue;
    if (!follow.thread.compare_exchange_strong(owner, me, std::memory_order_acquire)) continue;
    if (owner != 0) {
      conclude(follow, ValueUse::thread_end, nullptr);
      return take();
    }
    follow.taint = {};
    follow.root_guard = {};
    follow.record = {};
    follow.stepped_ns = 0;
    follow.watches = 0;
    follow.last_instruction = follow.last_count = 0;
    follow.interrupted = follow.pushed_flags = false;
    return &follow;
  }
  return nullptr;
}

// What the stretch under way has taken. All threads' time together is held against the budget: what they run, and not what
// they wait for a processor.
int64_t account(Follow& follow) {
  const int64_t at = now(), ran = now(CLOCK_THREAD_CPUTIME_ID);
  follow.stepped_ns += at - std::exchange(follow.began_ns, at);
  spent.fetch_add(ran - std::exchange(follow.ran_ns, ran), std::memory_order_relaxed);
  return at;
}
bool over_budget() { return spent.load(std::memory_order_relaxed) > services.budget_ns; }

int64_t stop_stepping(Follow& follow, ucontext_t* context) {
  flags_of(context) &= ~kTrapFlag;
  return account(follow);
}

void look_at_next(Follow& follow, ucontext_t* context);

void begin_stepping(Follow& follow, int64_t began_ns, ucontext_t* context) {
  follow.state = State::stepping;
  follow.window_end = follow.record.steps + kWindow;
  follow.extended = false;
  follow.began_ns = began_ns;
  follow.ran_ns = now(CLOCK_THREAD_CPUTIME_ID);
  follow.interrupted = false;
  flags_of(context) |= kTrapFlag;
}

// The value's way ends here. `context`: where, or null. The record's time is that of the program without stepping: what
// takes 20 ms in single steps are some microseconds without.
void conclude(Follow& follow, ValueUse use, ucontext_t* context) {
  if (&follow == current && follow.state == State::stepping && (!context || follow.interrupted))
    left_behind = true;
  const int64_t at = follow.state == State::stepping && context ? stop_stepping(follow, context) : now();
  ValueRecord& record = follow.record;
  // One copy is gone; of others nothing is known.
  if (use == ValueUse::nothing && record.flags & kValueElsewhere) use = ValueUse::window;
  record.type = RecordType::value;
  record.use = use;
  record.at_ns = at - follow.stepped_ns;
  record.stack = context && use != ValueUse::nothing ? services.stack(context) : kNoStack;
  services.append(record);
  give_back(follow);
}

// ---- Calls into code that is not stepped through

// Is it an argument, or where an argument points to?
bool is_argument(const Follow& follow, const ucontext_t* context) {
  static constexpr int kInRegisters[] = {7, 6, 2, 1, 8, 9};  // rdi, rsi, rdx, rcx, r8, r9
  constexpr int kMost = 12;
  const MemorySet& memory = follow.taint.memory;
  const DriverArguments which = services.arguments_of(instruction_of(context));
  uint64_t values[kMost] = {};
  for (int i = 0; i < kMost; ++i) {
    const uintptr_t on_stack = stack_of(context) + 8 + 8 * static_cast<uintptr_t>(i - 6);
    if (i < 6)
      values[i] = general_register(context->uc_mcontext, kInRegisters[i]);
    else if (!read_memory(on_stack, values[i]))
      return false;
    if (i < which.values &&
        (i < 6 ? follow.taint.general[kInRegisters[i]] != 0 : memory.mask(on_stack, 8) != 0))
      return true;
  }
  if (which.source >= 0 && which.source < kMost && which.bytes >= 0 && which.bytes < kMost &&
      memory.overlaps(AddressRange::of(values[which.source], values[which.bytes])))
    return true;
  if (which.parameters < 0 || which.parameters >= kMost) return false;
  uint64_t parameter = 0;
  for (uint64_t i = 0;
       i < 64 && read_memory(values[which.parameters] + 8 * i, parameter) && parameter >= kPageSize; ++i)
    if (memory.mask(parameter, 4)) return true;
  return false;
}

// Without single steps, up to the return to `back`, where the stack pointer is `stack` again.
void run_until(Follow& follow, uintptr_t back, uintptr_t stack, ucontext_t* context) {
  if (!follow.debug_register.stop_at(back, services)) return conclude(follow, ValueUse::window, context);
  stop_stepping(follow, context);
  follow.state = State::returning;
  follow.return_to = back;
  follow.return_stack = stack;
  follow.contents.note(follow.taint.memory, services);
}

void enter_call(Follow& follow, CodeOf whose, uintptr_t stack, ucontext_t* context) {
  if (whose == CodeOf::driver && is_argument(follow, context))
    return conclude(follow, ValueUse::driver, context);
  uintptr_t back = 0;
  if (!read_memory(stack, back) || services.code_of(back) != CodeOf::program)
    return conclude(follow, ValueUse::window, context);
  run_until(follow, back, stack + 8, context);
}

// ---- The end of a window

void end_window(Follow& follow, ucontext_t* context) {
  drop_dead_copies(follow.taint.memory, stack_of(context));
  int copies = 0;
  const AddressRange piece =
      copy_to_watch(follow.taint.memory, follow.touched, follow.accessed, stack_of(context), copies);
  // In registers it may be still to come, or be left over.
  const bool in_registers = follow.taint.in_registers();
  if (in_registers && !follow.extended && !over_budget()) {
    follow.extended = true;
    follow.window_end += kWindow;
    return look_at_next(follow, context);
  }
  if (piece.empty() && !in_registers) return conclude(follow, ValueUse::nothing, context);
  // Before it is watched: this is a touch, too.
  follow.content = 0;
  services.copy(&follow.content, reinterpret_cast<const void*>(piece.begin), piece.size());
  if (piece.empty() || waiting || follow.watches == kMostWatches ||
      !follow.debug_register.watch(piece, services))
    return conclude(follow, ValueUse::window, context);
  stop_stepping(follow, context);
  if (in_registers || copies > 1) follow.record.flags |= kValueElsewhere;
  ++follow.watches;
  follow.state = State::watching;
  follow.watched = piece;
  current = nullptr;
  waiting = &follow;
}

// ---- One instruction

// What the child of a stepped thread, or another program, would inherit of the trap flag would kill it.
bool ends_or_makes_thread(long number) {
  static constexpr long kCalls[] = {SYS_clone,    SYS_clone3, SYS_fork,       SYS_vfork,       SYS_execve,
                                    SYS_execveat, SYS_exit,   SYS_exit_group, SYS_rt_sigreturn};
  return std::find(std::begin(kCalls), std::end(kCalls), number) != std::end(kCalls);
}

// Single steps with a blocked SIGTRAP kill the program. Where the agent looks after the mask this blocks nothing.
bool blocks_traps(long number, const ucontext_t* context) {
  constexpr uint64_t kTrap = uint64_t{1} << (SIGTRAP - 1);
  uint64_t set = 0;
  const auto& registers = context->uc_mcontext.gregs;
  return number == SYS_rt_sigprocmask && registers[REG_RDI] != SIG_UNBLOCK && registers[REG_RSI] != 0 &&
         read_memory(static_cast<uintptr_t>(registers[REG_RSI]), set) && set & kTrap;
}

// True: the value's way has ended.
bool before_system_call(Follow& follow, ucontext_t* context) {
  const Taint& taint = follow.taint;
  if (taint.general[7] || taint.general[6] || taint.general[2]) {  // rdi, rsi, rdx
    conclude(follow, ValueUse::system_call, context);
    return true;
  }
  const auto number = static_cast<long>(context->uc_mcontext.gregs[REG_RAX]);
  if (!ends_or_makes_thread(number) && !blocks_traps(number, context)) return false;
  conclude(follow, number == SYS_rt_sigreturn ? ValueUse::handler : ValueUse::thread_end, context);
  return true;
}

ValueUse use_of(Effect::Kind kind) {
  switch (kind) {
    case Effect::branch:
      return ValueUse::branch;
    case Effect::address:
      return ValueUse::address;
    default:
      return ValueUse::instruction;
  }
}

uint32_t read_code(uintptr_t from, uint8_t* to, uint32_t bytes) {
  while (bytes > 0 && !services.copy(to, reinterpret_cast<const void*>(from), bytes)) {
    // Code ends at a page that cannot be read; this much of it can.
    const auto left = static_cast<uint32_t>(kPageSize - from % kPageSize);
    bytes = left < bytes ? left : 0;
  }
  return bytes;
}

// It traps without us: by itself, or since the flags that it restores have a trap flag of the program's own.
bool makes_trap(const Decoded& decoded, const ucontext_t* context) {
  if (decoded.instruction.mnemonic == ZYDIS_MNEMONIC_INT1) return true;
  if (decoded.instruction.mnemonic != ZYDIS_MNEMONIC_POPFQ &&
      decoded.instruction.mnemonic != ZYDIS_MNEMONIC_POPF)
    return false;
  uint16_t flags = 0;
  return !read_memory(stack_of(context), flags) || flags & kTrapFlag;
}

// Looks at the instruction that is next; the trap flag is set unless the value's way ends here.
void look_at_next(Follow& follow, ucontext_t* context) {
  const uintptr_t instruction = instruction_of(context);
  const auto count = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RCX]);
  flags_of(context) |= kTrapFlag;
  // Two signals may tell of one step.
  if (instruction == follow.last_instruction && count == follow.last_count) return;
  follow.last_instruction = instruction, follow.last_count = count;
  const CodeOf whose = services.code_of(instruction);
  if (whose == CodeOf::passage) return;
  if (whose != CodeOf::program) return enter_call(follow, whose, stack_of(context), context);
  uint8_t code[15];
  Decoded decoded;
  const uint32_t bytes = read_code(instruction, code, sizeof code);
  if (bytes == 0 || !decode(code, bytes, decoded) || makes_trap(decoded, context))
    return conclude(follow, ValueUse::instruction, context);
  if (decoded.instruction.mnemonic == ZYDIS_MNEMONIC_SYSCALL && before_system_call(follow, context)) return;
  const Effect effect = apply(decoded, context->uc_mcontext, instruction, follow.taint);
  follow.record.flags |= effect.flags;
  const bool consequence =
      effect.kind != Effect::none &&
      !(effect.kind == Effect::branch && follow.root_guard.is(decoded, instruction, services.copy));
  if (consequence) return conclude(follow, use_of(effect.kind), context);
  follow.root_guard.look_at(decoded, context->uc_mcontext, instruction, services.copy);
  // The dynamic linker looks up a function, which takes thousands of instructions and none of the value.
  if (follow.taint.saved && decoded.instruction.meta.category == ZYDIS_CATEGORY_CALL)
    return run_until(follow, instruction + decoded.instruction.length, stack_of(context), context);
  if (follow.taint.memory.full()) return conclude(follow, ValueUse::room, context);
  follow.pushed_flags = decoded.instruction.mnemonic == ZYDIS_MNEMONIC_PUSHFQ ||
                        decoded.instruction.mnemonic == ZYDIS_MNEMONIC_PUSHF;
}

void after_step(Follow& follow, ucontext_t* context) {
  ++follow.record.steps;
  if (follow.pushed_flags) {
    uint16_t flags = 0;
    const uintptr_t stack = stack_of(context);
    if (read_memory(stack, flags)) {
      flags = static_cast<uint16_t>(flags & ~kTrapFlag);
      services.copy(reinterpret_cast<void*>(stack), &flags, sizeof flags);
    }
    follow.pushed_flags = false;
  }
  if (std::exchange(follow.interrupted, false)) return conclude(follow, ValueUse::handler, context);
  const bool looks = follow.record.steps % 256 == 0;  // some milliseconds at most
  if (looks) account(follow);
  if (follow.record.steps >= follow.window_end || (looks && over_budget()))
    return end_window(follow, context);
  look_at_next(follow, context);
}

// The instruction before this place accessed `accessed`, which holds the value. False: it cannot be told which one it is.
bool take_access(Follow& follow, AddressRange accessed, ucontext_t* context, bool& only_wrote) {
  const uintptr_t place = instruction_of(context);
  uint8_t code[kBytesBefore];
  Decoded decoded;
  const auto& registers = context->uc_mcontext;
  // A repeated string instruction is interrupted at itself.
  if (read_code(place, code, 15) > 0 && decode(code, 15, decoded) &&
      decoded.instruction.meta.category == ZYDIS_CATEGORY_STRINGOP && general_register(registers, 1) != 0) {
    const uintptr_t from = general_register(registers, 6), to = general_register(registers, 7);
    constexpr uint64_t kNear = 256;
    const bool reads = accessed.overlaps({from - kNear, from + kNear});
    only_wrote = !reads;
    if (reads && accessed.begin < from) {
      follow.taint.memory.add(AddressRange::of(accessed.begin + (to - from), accessed.size()));
      follow.record.flags |= kValueCopied;
    }
    return true;
  }
  uint32_t bytes = kBytesBefore;
  while (bytes >= 1 && !services.copy(code, reinterpret_cast<const void*>(place - bytes), bytes))
    bytes = bytes / 2;
  if (bytes == 0 || !previous_instruction(code, bytes, place, registers, accessed, decoded)) return false;
  only_wrote = true;
  for (int i = 0; i < decoded.instruction.operand_count; ++i)
    if (decoded.operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
        decoded.operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
      only_wrote = false;
  if (only_wrote) return true;
  const Effect effect =
      apply(decoded, registers, place - decoded.instruction.length, follow.taint, When::behind);
  follow.record.flags |= effect.flags;
  if (effect.kind != Effect::none) conclude(follow, use_of(effect.kind), context);
  return true;
}

// The copy that was watched is touched.
void take_watched_touch(Follow& follow, ucontext_t* context) {
  const CodeOf whose = services.code_of(instruction_of(context) - 1);
  if (whose == CodeOf::agent || whose == CodeOf::passage) return;  // it reads for itself
  if (current == &follow || current) return conclude(follow, ValueUse::window, nullptr);
  follow.debug_register.off(services);
  uint64_t content = 0;
  services.copy(&content, reinterpret_cast<const void*>(follow.watched.begin), follow.watched.size());
  const bool overwritten = content != follow.content;
  waiting = nullptr;
  if (overwritten) return conclude(follow, ValueUse::nothing, context);
  follow.record.flags |= kValueWatched;
  if (whose == CodeOf::driver) return conclude(follow, ValueUse::driver, context);
  follow.taint.forget_scratch_registers();
  for (uint8_t& bytes : follow.taint.general) bytes = 0;
  current = &follow;
  bool only_wrote = false;
  if (!take_access(follow, follow.watched, context, only_wrote))
    return conclude(follow, ValueUse::instruction, context);
  if (current != &follow) return;  // it had a consequence at once
  if (only_wrote) return conclude(follow, ValueUse::nothing, context);
  begin_stepping(follow, now(), context);
  follow.last_instruction = 0;
  look_at_next(follow, context);
}

void take_return(Follow& follow, ucontext_t* context) {
  if (stack_of(context) < follow.return_stack) return;  // a call of the same place, further in
  follow.debug_register.off(services);
  if (stack_of(context) != follow.return_stack) return conclude(follow, ValueUse::handler, context);
  follow.taint.forget_scratch_registers();
  follow.contents.drop_overwritten(follow.taint.memory, services);
  const uint32_t window_end = follow.window_end;
  begin_stepping(follow, now(), context);
  follow.window_end = window_end;
  follow.last_instruction = 0;
  look_at_next(follow, context);
}

}  // namespace

bool start(const Services& given) {
  services = given;
  return open_decoder();
}

void touched(const TouchedValue& value, ucontext_t* context) {
  if (flags_of(context) & kTrapFlag) return;  // this thread is stepped already, by us or by the program
  if (!services.followed(instruction_of(context) - value.back) || !has_turn(value.stack)) return;
  if (over_budget() || is_debugged()) return;
  // A call or a step that never came back: something jumped out of it, or out of a handler.
  if (current) {
    if (current->state == State::returning && stack_of(context) < current->return_stack) return;
    conclude(*current, ValueUse::handler, nullptr);
  }
  Follow* follow = take();
  if (!follow) return;
  follow->record.touch_stack = value.stack;
  follow->record.touched_ns = value.at_ns;
  follow->touched = value.range;
  follow->accessed = AddressRange::of(value.address, 8).intersection(value.range);
  follow->taint.memory.add(value.range);
  current = follow;
  follow->state = State::stepping;
  follow->began_ns = value.at_ns;  // from the touch on the program has waited for this
  follow->ran_ns = now(CLOCK_THREAD_CPUTIME_ID);
  bool only_wrote = false;
  if (value.back > 0 && !take_access(*follow, follow->accessed, context, only_wrote))
    return conclude(*follow, ValueUse::instruction, context);
  if (current != follow) return;  // it had a consequence at once
  if (only_wrote) return conclude(*follow, ValueUse::nothing, context);
  begin_stepping(*follow, value.at_ns, context);
  look_at_next(*follow, context);
}

bool trap(const siginfo_t* info, ucontext_t* context) {
  uintptr_t address = 0;
  const bool of_register = is_register_trap(info, kOwnRegisters, address);
  if (of_register) {
    // One that comes late was blocked: a handler of ours touched the bytes, and none of the program's, which does not block it.
    if (waiting && waiting->debug_register.is_on() && waiting->watched.begin == address &&
        !is_late_trap(info))
      take_watched_touch(*waiting, context);
    else if (current && current->state == State::returning && instruction_of(context) == current->return_to)
      take_return(*current, context);
    // The kernel keeps one SIGTRAP for a thread: this one may stand for the step's, too.
  }
  Follow* follow = current;
  if (!follow || follow->state != State::stepping) {
    if (info->si_code != kTraced || !(flags_of(context) & kTrapFlag) || !std::exchange(left_behind, false))
      return of_register;
    flags_of(context) &= ~kTrapFlag;
    return true;
  }
  // A step, or a watchpoint that may stand for one. Flags that were popped have no trap flag.
  if (info->si_code != kTraced && !(info->si_code > 0 && flags_of(context) & kTrapFlag)) return of_register;
  if (follow->last_instruction != instruction_of(context) ||
      follow->last_count != static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RCX]))
    after_step(*follow, context);
  // What the kernel cannot name is the step: without us nothing traps here, and it would kill the program.
  return of_register || info->si_code == kTraced || info->si_code == kWithoutCause;
}

void system_call(AddressRange memory, ucontext_t* context) {
  for (Follow* follow : {current, waiting})
    if (follow && follow->taint.memory.overlaps(memory) && !follow->touched.overlaps(memory)) {
      if (follow->state == State::watching) {
        if (!follow->watched.overlaps(memory)) continue;
        follow->record.flags |= kValueWatched;
      }
      conclude(*follow, ValueUse::system_call, context);
    }
}

void interrupted(ucontext_t* context) {
  if (!current || current->state != State::stepping) return;
  if (context) return conclude(*current, ValueUse::handler, context);
  current->interrupted = true;
}

void finish() {
  for (Follow& follow : follows) {
    if (follow.thread.load(std::memory_order_acquire) == 0) continue;
    if (follow.state == State::watching || (&follow == current && follow.state == State::returning))
      conclude(follow, ValueUse::untouched, nullptr);
  }
}

void closing(uint64_t first, uint64_t last) {
  for (Follow& follow : follows) follow.debug_register.closing(first, last);
}

void forget() {
  for (Follow& follow : follows) {
    follow.debug_register.off(services);
    follow.state = State::free;
    follow.thread.store(0, std::memory_order_relaxed);
  }
  current = waiting = nullptr;
  left_behind = false;
}

}  // namespace diogenes::values
