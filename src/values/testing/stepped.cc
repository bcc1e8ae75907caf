#include "values/testing/stepped.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/units.h"
#include "values/follower.h"

extern "C" {
extern char __start_test_driver[], __stop_test_driver[], __start_test_agent[], __stop_test_agent[];
}
AS_DRIVER void diogenes_some_driver_code() {}
AS_AGENT void diogenes_some_agent_code() {}

namespace diogenes::values {

namespace {

constexpr size_t kMostRecords = 64;
struct Shared {
  uint32_t count;
  ValueRecord records[kMostRecords];
};
Shared* shared = nullptr;
double* place = nullptr;
int watch_file = -1;

bool copy(void* to, const void* from, size_t bytes) {
  // One of the two is the test's own; either may be missing.
  iovec here{to, bytes}, there{const_cast<void*>(from), bytes};
  if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes)) return true;
  iovec source{const_cast<void*>(from), bytes}, target{to, bytes};
  return process_vm_writev(getpid(), &source, 1, &target, 1, 0) == static_cast<ssize_t>(bytes);
}

bool within(uintptr_t address, const char* begin, const char* end) {
  return address >= reinterpret_cast<uintptr_t>(begin) && address < reinterpret_cast<uintptr_t>(end);
}

Services services{{copy,
                   [](long number, long a, long b, long c, long d, long e, long f) -> long {
                     const long result = syscall(number, a, b, c, d, e, f);
                     return result == -1 ? -errno : result;
                   },
                   [](const ucontext_t*) -> uint32_t { return 8; },
                   [](const ValueRecord& record) {
                     const uint32_t at = __atomic_fetch_add(&shared->count, 1, __ATOMIC_RELAXED);
                     if (at < kMostRecords) shared->records[at] = record;
                     return true;
                   },
                   [](uintptr_t address) {
                     if (within(address, __start_test_driver, __stop_test_driver)) return CodeOf::driver;
                     return within(address, __start_test_agent, __stop_test_agent) ? CodeOf::agent
                                                                                   : CodeOf::program;
                   },
                   nullptr, nullptr, nullptr, nullptr},
                  [](uintptr_t) { return DriverArguments{.values = 0, .parameters = 0}; },
                  [](uintptr_t) { return true; },
                  0};

TouchedValue touched_value(uintptr_t address, uint32_t back) {
  return {AddressRange::of(reinterpret_cast<uintptr_t>(place), sizeof *place), address, 8,
          monotonic_now().count, back};
}

void on_segv(int, siginfo_t* info, void* opaque) {
  const int before = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (address / kPageSize != reinterpret_cast<uintptr_t>(place) / kPageSize) _exit(99);
  mprotect(place, kPageSize, PROT_READ | PROT_WRITE);
  touched(touched_value(address, 0), static_cast<ucontext_t*>(opaque));
  errno = before;
}

void on_trap(int, siginfo_t* info, void* opaque) {
  const int before = errno;
  auto* context = static_cast<ucontext_t*>(opaque);
  if (!trap(info, context)) {
    if (watch_file < 0) _exit(98);  // nobody's
    close(watch_file);
    watch_file = -1;
    touched(touched_value(reinterpret_cast<uintptr_t>(place), 1), context);
  }
  // The agent would see the call's memory now.
  auto& registers = context->uc_mcontext.gregs;
  uint8_t code[2] = {};
  if (copy(code, reinterpret_cast<const void*>(registers[REG_RIP]), 2) && code[0] == 0x0f && code[1] == 5 &&
      registers[REG_RAX] == SYS_write)
    system_call(AddressRange::of(static_cast<uintptr_t>(registers[REG_RSI]),
                                 static_cast<uint64_t>(registers[REG_RDX])),
                context);
  errno = before;
}

bool watch_place() {
  perf_event_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.size = sizeof attributes;
  attributes.bp_type = HW_BREAKPOINT_RW;
  attributes.bp_addr = reinterpret_cast<uintptr_t>(place);
  attributes.bp_len = 8;
  attributes.sample_period = 1;
  attributes.sigtrap = attributes.remove_on_exec = 1;
  attributes.exclude_kernel = attributes.exclude_hv = 1;
  watch_file = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  return watch_file >= 0;
}

}  // namespace

Followed follow(const std::function<void(volatile double*)>& body, Setting setting) {
  shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  place = static_cast<double*>(
      mmap(nullptr, kPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  *place = 0.75;
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    services.budget_ns = setting.budget_ns;
    if (!start(services)) _exit(97);
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO;
    sigfillset(&action.sa_mask);
    action.sa_sigaction = on_segv;
    sigaction(SIGSEGV, &action, nullptr);
    action.sa_sigaction = on_trap;
    sigaction(SIGTRAP, &action, nullptr);
    if (setting.by_watchpoint ? !watch_place() : mprotect(place, kPageSize, PROT_NONE) != 0) _exit(96);
    body(place);
    // Single steps go on in here, until the window is over.
    for (int i = 0; i < 20'000; ++i) asm volatile("");
    if (setting.finish) finish();
    _exit(0);
  }
  Followed result;
  waitpid(child, &result.status, 0);
  for (uint32_t i = 0; i < shared->count && i < kMostRecords; ++i)
    result.records.push_back(shared->records[i]);
  munmap(shared, sizeof(Shared));
  munmap(place, kPageSize);
  return result;
}

}  // namespace diogenes::values
