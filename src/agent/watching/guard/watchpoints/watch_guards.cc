#include "agent/watching/guard/watchpoints/watch_guards.h"

#include <algorithm>

#include "agent/core/stacks/stack.h"
#include "agent/watching/guard/faults/bystanders.h"
#include "agent/watching/guard/guard_table.h"
#include "agent/watching/guard/sinks.h"
#include "agent/watching/guard/threads/threads.h"
#include "agent/watching/guard/watchpoints/registers.h"
#include "base/perf_trap.h"

namespace diogenes::agent {

namespace {

AddressRange transparent;

// A string instruction that is repeated is interrupted at itself; any other after it.
bool interrupted_inside(const ucontext_t* context) {
  auto& registers_then = context->uc_mcontext.gregs;
  uint8_t code[3];
  if (!diogenes_copy(code, reinterpret_cast<const void*>(registers_then[REG_RIP]), sizeof code)) return false;
  bool repeated = (code[0] == 0xf3 || code[0] == 0xf2) && registers_then[REG_RCX] != 0;
  uint8_t opcode = (code[1] & 0xf0) == 0x40 || code[1] == 0x66 ? code[2] : code[1];
  return repeated && ((opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf));
}

struct Hit {
  uint32_t guard;
  uint16_t generation;
  uintptr_t address;
};

// Guards whose pieces were touched. `address`: of the piece that the signal names, 0: it names none.
uint32_t find_hits(uintptr_t address, Hit* hits) {
  uint32_t count = 0;
  auto others = [](uint32_t guard) {
    return std::any_of(registers, registers + kWatchRegisters,
                       [guard](const Register& one) { return !is_free(one) && one.guard != guard; });
  };
  for (uint32_t i = 0; i < kWatchRegisters; ++i) {
    Register& one = registers[i];
    bool named = address != 0 && one.piece.begin == address;
    if (is_free(one)) {
      if (named) disarm_watchpoint(i);
      continue;
    }
    // An instruction can touch pieces of several guards, and of its signals only one comes.
    if (!named && (address == 0 || others(one.guard))) named = watchpoint_hits(i) != 0;
    if (!named) continue;
    bool listed = std::any_of(hits, hits + count, [&](const Hit& hit) { return hit.guard == one.guard; });
    if (!listed) hits[count++] = {one.guard, guard_at(one.guard)->generation, one.piece.begin};
  }
  return count;
}

}  // namespace

void set_transparent_code(AddressRange code) { transparent = code; }

bool take_watch_trap(siginfo_t* info, ucontext_t* context) {
  uintptr_t address = 0;
  bool ours = is_watchpoint_trap(info, address);
  if (!ours && wiped.watched.load(std::memory_order_acquire) == 0) return false;
  Undispatched undispatched;
  auto next = static_cast<uintptr_t>(context->uc_mcontext.gregs[REG_RIP]);
  if (ours && transparent.contains(next - 1)) {
    Section section(Section::in_handler);
    for (uint32_t i = 0; i < kWatchRegisters; ++i)
      if (!is_free(registers[i]) && watchpoint_hits(i) != 0) forgive_hit(i);
    return true;
  }
  Hit hits[kWatchRegisters];
  uint32_t count;
  {
    Section section(Section::in_handler);
    count = find_hits(ours ? address : 0, hits);
  }
  if (count == 0) return ours;
  uint32_t back = interrupted_inside(context) ? 0 : 1;
  bool driver = in_driver_now() || (guard_thread.driver && !guard_thread.slot) || in_driver_code(next - back);
  if (!driver && !guard_thread.slot && !guard_thread.driver) note_callback();
  Touch touch{driver ? TouchBy::driver : TouchBy::program, Access::unknown, {}, 0, 0};
  const Nanoseconds came = monotonic_now();
  if (ours && is_late_trap(info))
    touch.by = TouchBy::exposed;  // by whom is not known
  else
    touch.stack = capture_interrupted_stack(context, back);  // outside of the lock: walking takes long
  if (touch.by == TouchBy::program) await_bystanders();
  touch.at = monotonic_now();
  touch.held = touch.at - came;
  AddressRange range;
  {
    Section section(Section::in_handler);
    for (uint32_t i = 0; i < count; ++i) {
      if (guard_at(hits[i].guard)->generation != hits[i].generation) continue;
      touch.address = hits[i].address;
      range = guard_at(hits[i].guard)->range;
      mark_touched(hits[i].guard, touch);
    }
  }
  if (touch.by == TouchBy::program && !range.empty())
    value_source->touched({range, touch.address, touch.stack, touch.came().count, back}, context);
  return ours;
}

void note_closing(uint64_t first, uint64_t last) {
  Section section(Section::in_handler);
  if (!watchpoint_files(first, last)) return;
  for (const Register& one : registers) {
    if (is_free(one)) continue;
    Touch touch{TouchBy::given_up, Access::none, monotonic_now(), guard_at(one.guard)->range.begin, 0};
    if (touched_unseen(*guard_at(one.guard))) touch.by = TouchBy::exposed;
    mark_touched(one.guard, touch);
  }
  for (Register& one : registers) one = {};
  end_watchpoints();
}

}  // namespace diogenes::agent
