#include "values/debug_register.h"

#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>

namespace diogenes::values {

namespace {

constexpr uint64_t kOurs = 0x6469'6f67'7661'6c75;  // sig_data
constexpr int kPerfTrap = 6;                       // TRAP_PERF

// siginfo of TRAP_PERF, as the kernel writes it; older headers do not have it.
struct PerfTrap {
  int signal, error, code, padding;
  uintptr_t address;
  uint64_t data;
  uint32_t type, flags;
};

}  // namespace

bool DebugRegister::open(uint32_t type, uintptr_t address, uint64_t bytes, const ValueServices& services) {
  off(services);
  perf_event_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.size = sizeof attributes;
  attributes.bp_type = type;
  attributes.bp_addr = address;
  attributes.bp_len = bytes;
  attributes.sample_period = 1;
  attributes.sigtrap = attributes.remove_on_exec = 1;
  attributes.exclude_kernel = attributes.exclude_hv = 1;
  attributes.sig_data = kOurs;
  const long file = services.system_call(SYS_perf_event_open, reinterpret_cast<long>(&attributes), 0, -1, -1,
                                         PERF_FLAG_FD_CLOEXEC, 0);
  if (file < 0) return false;
  // A high number: programs count on getting the lowest.
  rlimit limit{};
  services.system_call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, reinterpret_cast<long>(&limit), 0, 0);
  const auto most = static_cast<long>(std::min<uint64_t>(limit.rlim_cur, 4096));
  const long lowest = most > 256 ? most - 64 : most / 4 * 3;
  const long high =
      lowest > file ? services.system_call(SYS_fcntl, file, F_DUPFD_CLOEXEC, lowest, 0, 0, 0) : -1;
  if (high >= 0) services.system_call(SYS_close, file, 0, 0, 0, 0, 0);
  file_ = static_cast<int>(high >= 0 ? high : file);
  return true;
}

bool DebugRegister::stop_at(uintptr_t instruction, const ValueServices& services) {
  return open(HW_BREAKPOINT_X, instruction, sizeof(long), services);
}

bool DebugRegister::watch(AddressRange bytes, const ValueServices& services) {
  return open(HW_BREAKPOINT_RW, bytes.begin, bytes.size(), services);
}

void DebugRegister::off(const ValueServices& services) {
  if (file_ >= 0) services.system_call(SYS_close, file_, 0, 0, 0, 0, 0);
  file_ = -1;
}

bool is_register_trap(const siginfo_t* info, uintptr_t& address) {
  if (info->si_code != kPerfTrap) return false;
  PerfTrap trap;
  memcpy(&trap, info, sizeof trap);
  address = trap.address;
  return trap.type == PERF_TYPE_BREAKPOINT && trap.data == kOurs;
}

bool is_late_trap(const siginfo_t* info) {
  PerfTrap trap;
  memcpy(&trap, info, sizeof trap);
  return trap.flags & 1;  // TRAP_PERF_FLAG_ASYNC
}

}  // namespace diogenes::values
