// A system call of the program's that was stopped by Syscall User Dispatch is made again from a stub here,
// with all its registers, on its own stack: to the kernel, and to everything that depends on where the stack
// is (sigreturn, clone, vfork, restarts after signals), it is the program's call. A stub is
//     syscall;  [mov %fs:slot, %r11;  movb $0, flag(%r11);]  jmp *site
// %rcx and %r11 are free there, since the call destroys them.
//
// The stubs lie inside this library, so that unwinders find the one FDE that covers them: it says that a stub
// was called from its site, which it reads at %rcx + 22. %rcx is the address after the `syscall` for as long
// as a stub runs: the dispatcher sets it before, the kernel keeps it so.
//
// Their pages are replaced by a memory file that is mapped here to run and elsewhere to be written.
#include "agent/watching/guard/system_calls/undispatched_code.h"

#include <linux/memfd.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "agent/watching/guard/section.h"

#define DIOGENES_STUBS 4096
#define DIOGENES_TEXT_(x) #x
#define DIOGENES_TEXT(x) DIOGENES_TEXT_(x)

asm(R"(
  .pushsection .text.diogenes_undispatched,"ax",@progbits
  .balign 4096
  .globl diogenes_undispatched_begin, diogenes_raw_syscall, diogenes_restorer, diogenes_copy, diogenes_copy_begin
  .globl diogenes_copy_end, diogenes_copy_failed, diogenes_call_on, diogenes_stubs, diogenes_undispatched_end
  .hidden diogenes_undispatched_begin, diogenes_raw_syscall, diogenes_restorer, diogenes_copy, diogenes_copy_begin
  .hidden diogenes_copy_end, diogenes_copy_failed, diogenes_call_on, diogenes_stubs, diogenes_undispatched_end
diogenes_undispatched_begin:

  .type diogenes_raw_syscall,@function
diogenes_raw_syscall:
  .cfi_startproc
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
  ret
  .cfi_endproc

  .type diogenes_copy,@function
diogenes_copy:
  .cfi_startproc
  mov %rdx, %rcx
diogenes_copy_begin:
  rep movsb
diogenes_copy_end:
  mov $1, %eax
  ret
diogenes_copy_failed:
  xor %eax, %eax
  ret
  .cfi_endproc

  # (top of another stack, function, argument): calls it there.
  .type diogenes_call_on,@function
diogenes_call_on:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  mov %rdi, %rsp
  mov %rdx, %rdi
  call *%rsi
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc

  # No CFI: unwinders know these nine bytes, and look one byte before them first.
  .balign 16
  nop
  .balign 16
  .type diogenes_restorer,@function
diogenes_restorer:
  mov $15, %rax
  syscall
  int3

  .balign 4096
  .cfi_startproc
  .cfi_def_cfa %rsp, 0
  # DW_CFA_val_expression of the return address: DW_OP_breg2 (%rcx) +22, DW_OP_deref
  .cfi_escape 0x16, 16, 3, 0x72, 22, 0x06
diogenes_stubs:
  .fill 32 * )" DIOGENES_TEXT(DIOGENES_STUBS) R"(, 1, 0xcc
  .cfi_endproc
diogenes_undispatched_end:
  .popsection
)");

extern "C" {
extern char diogenes_undispatched_begin[], diogenes_undispatched_end[], diogenes_stubs[];
extern char diogenes_copy_begin[], diogenes_copy_end[], diogenes_copy_failed[];
}

namespace diogenes::agent {

namespace {

constexpr uint32_t kStubs = DIOGENES_STUBS;
constexpr uint32_t kStubBytes = 32;
constexpr uint32_t kSiteAt = 24;
constexpr uint32_t kHashed = 2 * kStubs;

struct Made {
  std::atomic<uint64_t> key{0};  // site, and the kind in bit 63; the rest is there when it is
  uint32_t stub = 0;
};

Made made[kHashed];
uint32_t made_count = 0;
char* writable = nullptr;
char clearing_code[kSiteAt];

void put_jump(char* code, uint32_t at) {
  // jmp *disp32(%rip), to the address at kSiteAt
  int32_t distance = static_cast<int32_t>(kSiteAt - (at + 6));
  code[at] = '\xff';
  code[at + 1] = '\x25';
  memcpy(code + at + 2, &distance, 4);
}

// Where the stub is, or would come.
Made& place_of(uint64_t key) {
  uint32_t at = static_cast<uint32_t>((key ^ key >> 29) * 0x9e3779b97f4a7c15ull >> 40) % kHashed;
  for (uint64_t there; (there = made[at].key.load(std::memory_order_acquire)) != 0 && there != key;)
    at = (at + 1) % kHashed;
  return made[at];
}

}  // namespace

AddressRange undispatched_code() {
  return {reinterpret_cast<uintptr_t>(diogenes_undispatched_begin),
          reinterpret_cast<uintptr_t>(diogenes_undispatched_end)};
}

bool recover_copy(uintptr_t& instruction) {
  if (instruction < reinterpret_cast<uintptr_t>(diogenes_copy_begin) ||
      instruction >= reinterpret_cast<uintptr_t>(diogenes_copy_end))
    return false;
  instruction = reinterpret_cast<uintptr_t>(diogenes_copy_failed);
  return true;
}

bool prepare_stubs(int32_t slot_offset, int8_t flag_offset) {
  if (writable) return true;
  constexpr long kMayExecute = 0x10;  // MFD_EXEC, Linux 6.3
  constexpr size_t kSize = kStubs * kStubBytes;
  long file = raw_syscall(SYS_memfd_create, "diogenes-stubs", MFD_CLOEXEC | kMayExecute);
  if (file < 0) file = raw_syscall(SYS_memfd_create, "diogenes-stubs", MFD_CLOEXEC);
  if (file < 0) return false;
  long view = -1;
  if (raw_syscall(SYS_ftruncate, file, kSize) == 0 && raw_syscall(SYS_fallocate, file, 0, 0, kSize) == 0)
    view = raw_syscall(SYS_mmap, nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  bool viewed = view > 0 || view < -4095;
  long running = -1;
  if (viewed)
    running =
        raw_syscall(SYS_mmap, diogenes_stubs, kSize, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, file, 0);
  raw_syscall(SYS_close, file);
  if (running != reinterpret_cast<long>(diogenes_stubs)) {
    if (viewed) raw_syscall(SYS_munmap, view, kSize);
    return false;
  }
  char* code = clearing_code;
  const char start[] = {'\x0f', '\x05', '\x64', '\x4c',
                        '\x8b', '\x1c', '\x25'};  // syscall; mov %fs:disp32, %r11
  memcpy(code, start, 7);
  memcpy(code + 7, &slot_offset, 4);
  const char clear[] = {'\x41', '\xc6', '\x43', static_cast<char>(flag_offset), 0};  // movb $0, disp8(%r11)
  memcpy(code + 11, clear, 5);
  put_jump(code, 16);
  writable = reinterpret_cast<char*>(view);
  return true;
}

uintptr_t stub_for(uintptr_t site, Stub kind) {
  const uint64_t key = site | static_cast<uint64_t>(kind == Stub::clearing) << 63;
  const auto stubs = reinterpret_cast<uintptr_t>(diogenes_stubs);
  if (const Made& there = place_of(key); there.key.load(std::memory_order_acquire) != 0)
    return stubs + there.stub * kStubBytes;
  Section section(Section::in_handler);
  Made& place = place_of(key);
  if (place.key.load(std::memory_order_relaxed) != 0) return stubs + place.stub * kStubBytes;
  if (made_count == kStubs || !writable) return 0;
  char* code = writable + made_count * kStubBytes;
  if (kind == Stub::clearing) {
    memcpy(code, clearing_code, kSiteAt);
  } else {
    code[0] = '\x0f';
    code[1] = '\x05';
    put_jump(code, 2);
  }
  memcpy(code + kSiteAt, &site, sizeof site);
  place.stub = made_count;
  place.key.store(key, std::memory_order_release);
  return stubs + made_count++ * kStubBytes;
}

uintptr_t site_of_stub(uintptr_t code) {
  auto begin = reinterpret_cast<uintptr_t>(diogenes_stubs);
  if (code < begin || code >= begin + kStubs * kStubBytes || (code - begin) % kStubBytes != 0) return 0;
  uintptr_t site;  // of a stub that was made: the thread is about to run it
  memcpy(&site, reinterpret_cast<const char*>(code) + kSiteAt, sizeof site);
  return site;
}

}  // namespace diogenes::agent
