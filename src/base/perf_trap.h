// Debug registers by perf_event_open(2): what it is asked for, and the SIGTRAP that it sends (`sigtrap`, Linux 5.13).
#pragma once
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>

#include <cstring>

#include "base/range.h"

namespace diogenes {

// siginfo of TRAP_PERF, as the kernel writes it; older headers do not have it.
struct PerfTrap {
  int signal, error, code, padding;
  uintptr_t address;
  uint64_t data;
  uint32_t type, flags;
};

// `type`: HW_BREAKPOINT_W, ... `data`: by which whoever asks knows its traps.
inline perf_event_attr register_attributes(uint32_t type, AddressRange bytes, uint64_t data) {
  perf_event_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.size = sizeof attributes;
  attributes.bp_type = type;
  attributes.bp_addr = bytes.begin;
  attributes.bp_len = bytes.size();
  attributes.sample_period = 1;
  attributes.sigtrap = attributes.remove_on_exec = 1;
  attributes.exclude_kernel = attributes.exclude_hv = 1;
  attributes.sig_data = data;
  return attributes;
}

// Did a register with this `data` send it? `address`: that it was put on.
inline bool is_register_trap(const siginfo_t* info, uint64_t data, uintptr_t& address) {
  constexpr int kPerfTrap = 6;  // TRAP_PERF
  if (info->si_code != kPerfTrap) return false;
  PerfTrap trap;
  memcpy(&trap, info, sizeof trap);
  address = trap.address;
  return trap.type == PERF_TYPE_BREAKPOINT && trap.data == data;
}

// It was blocked when the bytes were touched.
inline bool is_late_trap(const siginfo_t* info) {
  PerfTrap trap;
  memcpy(&trap, info, sizeof trap);
  return trap.flags & 1;  // TRAP_PERF_FLAG_ASYNC
}

}  // namespace diogenes
