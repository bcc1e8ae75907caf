// Whether the processor's watchpoints tell of a touch. The kernels of some virtual machines take them, and they never fire: then
// small results cannot be watched, and nobody must take them for untouched. Source: perf_event_open(2), seen on a virtual
// machine with Linux 6.18.
#pragma once
#include <sys/syscall.h>
#include <unistd.h>

#include "base/perf_trap.h"

namespace diogenes {

// One is put on a word, and the word is touched. False also where none can be had: that shows when one is asked for.
inline bool watchpoints_never_fire() {
  static volatile uint64_t word;
  perf_event_attr attributes =
      register_attributes(HW_BREAKPOINT_RW, AddressRange::of(reinterpret_cast<uintptr_t>(&word), 8), 0);
  attributes.sample_period = attributes.sigtrap = 0;  // it only counts
  const long file = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (file < 0) return false;
  word = word + 1;
  uint64_t touches = 0;
  const bool told = read(static_cast<int>(file), &touches, sizeof touches) == sizeof touches;
  close(static_cast<int>(file));
  return told && touches == 0;
}

}  // namespace diogenes
