// Layout of what a probe allocates near the image (one page):
//   stub:   push imm32 / mov dword [rsp+4], imm32    the Probe's address, with no register touched
//           jmp [rip] -> the thunk below
//   moved:  the displaced instructions, then jmp rel32 to entry + displaced
//   the Probe itself
// The thunk is one frame with CFI: it saves every register that a caller may rely on, calls enter(), passes
// the stack arguments again, calls the moved code, saves again, calls leave(). All caller-saved registers are
// kept, not only those of arguments: inside one library the compiler may know that a function leaves some of
// them alone (-fipa-ra).
#include "driver/discovery/probe.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <new>

#include "base/range.h"

extern "C" {
void diogenes_probe_thunk();
int64_t diogenes_probe_enter(diogenes::Probe* probe) { return probe->enter(); }
void diogenes_probe_leave(diogenes::Probe* probe, int64_t begin) { probe->leave(begin); }
}

// On entry: [rsp] = Probe*, [rsp+8] = return address, [rsp+16..] = stack arguments (8 words are passed
// again).
asm(R"(
  # 0..511 fxsave, 512..583 general registers
  .macro diogenes_save
  mov %rax, 512(%rsp)
  mov %rcx, 520(%rsp)
  mov %rdx, 528(%rsp)
  mov %rsi, 536(%rsp)
  mov %rdi, 544(%rsp)
  mov %r8, 552(%rsp)
  mov %r9, 560(%rsp)
  mov %r10, 568(%rsp)
  mov %r11, 576(%rsp)
  fxsave64 (%rsp)
  .endm
  .macro diogenes_restore
  fxrstor64 (%rsp)
  mov 512(%rsp), %rax
  mov 520(%rsp), %rcx
  mov 528(%rsp), %rdx
  mov 536(%rsp), %rsi
  mov 544(%rsp), %rdi
  mov 552(%rsp), %r8
  mov 560(%rsp), %r9
  mov 568(%rsp), %r10
  mov 576(%rsp), %r11
  .endm
  .text
  .p2align 4
  .globl diogenes_probe_thunk
  .hidden diogenes_probe_thunk
  .type diogenes_probe_thunk, @function
diogenes_probe_thunk:
  .cfi_startproc
  .cfi_def_cfa_offset 16
  push %rbp
  .cfi_def_cfa_offset 24
  .cfi_offset rbp, -24
  mov %rsp, %rbp
  .cfi_def_cfa rbp, 24
  and $-16, %rsp
  sub $608, %rsp
  # what is saved, then 584 begin
  diogenes_save
  mov 8(%rbp), %rdi
  call diogenes_probe_enter
  mov %rax, 584(%rsp)
  diogenes_restore
  push 80(%rbp)
  push 72(%rbp)
  push 64(%rbp)
  push 56(%rbp)
  push 48(%rbp)
  push 40(%rbp)
  push 32(%rbp)
  push 24(%rbp)
  # The address of the moved code, without a register: above the arguments, below them it would shift the frame.
  call diogenes_probe_go
  add $64, %rsp
  diogenes_save
  mov 8(%rbp), %rdi
  mov 584(%rsp), %rsi
  call diogenes_probe_leave
  diogenes_restore
  mov %rbp, %rsp
  pop %rbp
  .cfi_def_cfa rsp, 16
  lea 8(%rsp), %rsp
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .size diogenes_probe_thunk, . - diogenes_probe_thunk

  # Called with the return address into the thunk on the stack: puts the moved code's address below it, and goes there.
  .type diogenes_probe_go, @function
diogenes_probe_go:
  .cfi_startproc
  sub $8, %rsp
  .cfi_def_cfa_offset 16
  push %rax
  .cfi_def_cfa_offset 24
  mov 8(%rbp), %rax
  mov (%rax), %rax
  mov %rax, 8(%rsp)
  pop %rax
  .cfi_def_cfa_offset 16
  ret
  .cfi_endproc
  .size diogenes_probe_go, . - diogenes_probe_go
)");

namespace diogenes {
namespace {

// A page that a 32-bit displacement reaches from everywhere in the image's code around `address`.
void* page_near(uintptr_t address) {
  constexpr uintptr_t kReach = uintptr_t{1} << 30, kStep = uintptr_t{1} << 20;
  for (uintptr_t distance = kStep; distance < kReach; distance += kStep)
    for (const uintptr_t hint : {address - distance, address + distance}) {
      if (hint > UINTPTR_MAX / 2) continue;
      void* wanted = reinterpret_cast<void*>(hint & ~(kPageSize - 1));
      void* page = mmap(wanted, kPageSize, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (page == wanted) return page;
      if (page != MAP_FAILED) munmap(page, kPageSize);
    }
  return nullptr;
}

void put_displacement(uint8_t* at, uintptr_t target, int trailing) {
  const auto displacement =
      static_cast<int32_t>(target - (reinterpret_cast<uintptr_t>(at) + 4 + static_cast<unsigned>(trailing)));
  memcpy(at, &displacement, 4);
}

}  // namespace

Result<Probe*> Probe::install(const HookSite& site, uintptr_t image_base) {
  auto* entry = reinterpret_cast<uint8_t*>(image_base + site.entry);
  if (memcmp(entry, site.expected, site.displaced) != 0)
    return error("memory at offset 0x%lx is not as in the file; has something else patched it?",
                 static_cast<unsigned long>(site.entry));
  auto* page = static_cast<uint8_t*>(page_near(reinterpret_cast<uintptr_t>(entry)));
  if (page == nullptr)
    return error("no free memory within 1 GiB of offset 0x%lx", static_cast<unsigned long>(site.entry));

  auto* probe = new (page + 512) Probe;  // its first member is moved_code, where the thunk looks for it
  const auto address = reinterpret_cast<uintptr_t>(probe);
  const auto thunk = reinterpret_cast<uintptr_t>(&diogenes_probe_thunk);
  const auto low = static_cast<uint32_t>(address), high = static_cast<uint32_t>(address >> 32);
  uint8_t* at = page;
  *at++ = 0x68;  // push low (sign-extended; the upper half is written next)
  memcpy(at, &low, 4), at += 4;
  memcpy(at, "\xc7\x44\x24\x04", 4), at += 4;  // mov dword [rsp+4], high
  memcpy(at, &high, 4), at += 4;
  memcpy(at, "\xff\x25\0\0\0\0", 6), at += 6;  // jmp [rip]
  memcpy(at, &thunk, 8), at += 8;

  uint8_t* moved = page + 64;
  memcpy(moved, site.moved, site.moved_length);
  for (int i = 0; i < site.fixup_count; ++i)
    put_displacement(moved + site.fixups[i].at, image_base + site.fixups[i].target, site.fixups[i].trailing);
  if (!site.returns) {
    moved[site.moved_length] = 0xe9;
    put_displacement(moved + site.moved_length + 1, image_base + site.entry + site.displaced, 0);
  }
  probe->moved_code = reinterpret_cast<uintptr_t>(moved);

  const AddressRange pages = AddressRange::of(reinterpret_cast<uintptr_t>(entry), 16).pages();
  void* begin = reinterpret_cast<void*>(pages.begin);
  if (mprotect(begin, pages.size(), PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    return error("code cannot be made writable: %s", strerror(errno));
  uint8_t jump[8];
  memcpy(jump, entry, 8);
  jump[0] = 0xe9;
  const auto displacement = static_cast<int32_t>(page - (entry + 5));
  memcpy(jump + 1, &displacement, 4);
  if ((reinterpret_cast<uintptr_t>(entry) & 7) == 0) {
    // One aligned store, so that another thread sees the old instruction or the new.
    uint64_t word;
    memcpy(&word, jump, 8);
    __atomic_store_n(reinterpret_cast<uint64_t*>(entry), word, __ATOMIC_RELEASE);
  } else {
    memcpy(entry, jump, 5);
  }
  mprotect(begin, pages.size(), PROT_READ | PROT_EXEC);
  return probe;
}

void Probe::reset() {
  calls_.store(0, std::memory_order_relaxed);
  longest_.store(0, std::memory_order_relaxed);
  total_.store(0, std::memory_order_relaxed);
}

int64_t Probe::enter() { return monotonic_now().count; }

void Probe::leave(int64_t begin) {
  if (!every_thread_.load(std::memory_order_relaxed) &&
      pthread_equal(thread_.load(std::memory_order_relaxed), pthread_self()) == 0)
    return;
  const int64_t lasted = monotonic_now().count - begin;
  calls_.fetch_add(1, std::memory_order_relaxed);
  total_.fetch_add(lasted, std::memory_order_relaxed);
  int64_t longest = longest_.load(std::memory_order_relaxed);
  while (lasted > longest && !longest_.compare_exchange_weak(longest, lasted, std::memory_order_relaxed)) {
  }
}

}  // namespace diogenes
