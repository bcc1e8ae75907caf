// System calls on memory that a moved wait keeps closed (late.h): they are a first touch, too, and the kernel
// would answer them with EFAULT. Once a wait was moved, the calls that read or write the program's memory are
// stopped (seccomp, SIGSYS), the waits that they meet happen, and then they are made.
//
// For programs that do not block SIGSYS around such calls, and that execute no other program afterwards: the
// filter stays with them.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "late.h"

// Its `syscall` instruction is the one that the filter lets pass.
asm(R"(
  .pushsection .text.unstopped,"ax",@progbits
  .type diogenes_sim_unstopped,@function
  .hidden diogenes_sim_unstopped
diogenes_sim_unstopped:
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
  .size diogenes_sim_unstopped, . - diogenes_sim_unstopped
  .popsection
)");
extern "C" long diogenes_sim_unstopped(long number, long a, long b, long c, long d, long e, long f);

namespace diogenes::sim {
namespace {

constexpr uint32_t kCodeBytes = 32;  // more than the function above has

void (*report_touch)(uintptr_t, uintptr_t) = nullptr;

// What a call does with it is not asked: memory that is released was a source, perhaps, and is to stay until
// it was read. How a call names its memory: the arguments' numbers, from 0.
enum class Names : uint8_t { bytes, vector, message };
enum class At : uint8_t {
  none,
  position,
  fourth
};  // where in a file: at its position, or as the argument says
struct Stopped {
  long number;
  Names names;
  int address, count;
  At at = At::none;
};
constexpr Stopped kStopped[] = {{SYS_read, Names::bytes, 1, 2, At::position},
                                {SYS_write, Names::bytes, 1, 2, At::position},
                                {SYS_pread64, Names::bytes, 1, 2, At::fourth},
                                {SYS_pwrite64, Names::bytes, 1, 2, At::fourth},
                                {SYS_sendto, Names::bytes, 1, 2},
                                {SYS_recvfrom, Names::bytes, 1, 2},
                                {SYS_getrandom, Names::bytes, 0, 1},
                                {SYS_munmap, Names::bytes, 0, 1},
                                {SYS_readv, Names::vector, 1, 2, At::position},
                                {SYS_writev, Names::vector, 1, 2, At::position},
                                {SYS_preadv, Names::vector, 1, 2, At::fourth},
                                {SYS_pwritev, Names::vector, 1, 2, At::fourth},
                                {SYS_preadv2, Names::vector, 1, 2, At::fourth},
                                {SYS_pwritev2, Names::vector, 1, 2, At::fourth},
                                {SYS_sendmsg, Names::message, 1, 0},
                                {SYS_recvmsg, Names::message, 1, 0}};

// Out: bytes in all.
size_t touch_vector(const iovec* pieces, size_t count) {
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto begin = reinterpret_cast<uintptr_t>(pieces[i].iov_base);
    report_touch(begin, begin + pieces[i].iov_len);
    bytes += pieces[i].iov_len;
  }
  return bytes;
}

// The file may be this program's own memory, /proc/PID/mem.
void touch_file(long file, At at, uintptr_t place, size_t bytes) {
  char link[32], path[64] = {}, own[32];
  snprintf(link, sizeof link, "/proc/self/fd/%ld", file);
  snprintf(own, sizeof own, "/proc/%d/mem", getpid());
  if (readlink(link, path, sizeof path - 1) < 0 || strcmp(path, own) != 0) return;
  if (at == At::position) place = static_cast<uintptr_t>(lseek(static_cast<int>(file), 0, SEEK_CUR));
  report_touch(place, place + bytes);
}

void on_stopped(int, siginfo_t* info, void* context) {
  const int saved = errno;
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const long arguments[] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                            registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
  for (const Stopped& call : kStopped) {
    if (call.number != info->si_syscall) continue;
    const auto address = static_cast<uintptr_t>(arguments[call.address]);
    auto bytes = static_cast<size_t>(arguments[call.count]);
    if (call.names == Names::bytes) {
      report_touch(address, address + bytes);
    } else if (call.names == Names::vector) {
      bytes = touch_vector(reinterpret_cast<const iovec*>(address), bytes);
    } else {
      const auto* message = reinterpret_cast<const msghdr*>(address);
      touch_vector(message->msg_iov, message->msg_iovlen);
    }
    if (call.at != At::none) touch_file(arguments[0], call.at, static_cast<uintptr_t>(arguments[3]), bytes);
  }
  registers[REG_RAX] = unstopped_call(info->si_syscall, arguments[0], arguments[1], arguments[2],
                                      arguments[3], arguments[4], arguments[5]);
  errno = saved;
}

sock_filter statement(uint32_t code, uint32_t value) { return {static_cast<uint16_t>(code), 0, 0, value}; }
sock_filter jump(uint32_t code, uint32_t value, size_t if_true, size_t if_false) {
  return {static_cast<uint16_t>(code), static_cast<uint8_t>(if_true), static_cast<uint8_t>(if_false), value};
}

bool install() {
  const auto code = reinterpret_cast<uintptr_t>(&diogenes_sim_unstopped);
  if (code >> 32 != (code + kCodeBytes) >> 32) return false;  // a filter compares 32 bits at a time
  constexpr size_t calls = sizeof kStopped / sizeof kStopped[0];
  std::vector<sock_filter> filter = {
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      jump(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
      statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (size_t i = 0; i < calls; ++i)
    filter.push_back(
        jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(kStopped[i].number), calls - i, 0));
  filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  filter.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, instruction_pointer) + 4));
  filter.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(code >> 32), 0, 3));
  filter.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, instruction_pointer)));
  filter.push_back(jump(BPF_JMP | BPF_JGE | BPF_K, static_cast<uint32_t>(code), 0, 1));
  filter.push_back(jump(BPF_JMP | BPF_JGE | BPF_K, static_cast<uint32_t>(code + kCodeBytes), 0, 1));
  filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
  filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));

  struct sigaction action = {};
  action.sa_sigaction = on_stopped;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART;
  if (sigaction(SIGSYS, &action, nullptr) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

}  // namespace

bool stop_calls_on_memory(void (*touched)(uintptr_t, uintptr_t)) {
  report_touch = touched;
  static const bool installed = install();
  return installed;
}

long unstopped_call(long number, long a, long b, long c, long d, long e, long f) {
  return diogenes_sim_unstopped(number, a, b, c, d, e, f);
}

}  // namespace diogenes::sim
