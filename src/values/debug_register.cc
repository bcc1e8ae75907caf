#include "values/debug_register.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>

namespace diogenes::values {

bool DebugRegister::open(uint32_t type, AddressRange bytes, const ValueServices& services) {
  off(services);
  perf_event_attr attributes = register_attributes(type, bytes, kOwnRegisters);
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
  return open(HW_BREAKPOINT_X, AddressRange::of(instruction, sizeof(long)), services);
}

bool DebugRegister::watch(AddressRange bytes, const ValueServices& services) {
  return open(HW_BREAKPOINT_RW, bytes, services);
}

void DebugRegister::off(const ValueServices& services) {
  if (file_ >= 0) services.system_call(SYS_close, file_, 0, 0, 0, 0, 0);
  file_ = -1;
}

}  // namespace diogenes::values
