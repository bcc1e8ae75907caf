// A debug register of the calling thread's own: it tells when the thread comes to an instruction, or touches a few bytes.
// Out: SIGTRAP, as perf_event_open(2) sends it (`sigtrap`, Linux 5.13).
#pragma once
#include <cstdint>

#include "base/perf_trap.h"
#include "base/range.h"
#include "trace/value_source.h"

namespace diogenes::values {

inline constexpr uint64_t kOwnRegisters = 0x6469'6f67'7661'6c75;  // is_register_trap()

class DebugRegister {
 public:
  bool is_on() const { return file_ >= 0; }
  // False: none is free, or they are not allowed here.
  bool stop_at(uintptr_t instruction, const ValueServices& services);
  // 1, 2, 4 or 8 bytes, aligned to their size.
  bool watch(AddressRange bytes, const ValueServices& services);
  void off(const ValueServices& services);
  // The program closes files with these numbers, ours too: the number may be of a file of its own then.
  void closing(uint64_t first, uint64_t last) {
    if (file_ >= 0 && first <= static_cast<uint64_t>(file_) && static_cast<uint64_t>(file_) <= last)
      file_ = -1;
  }

 private:
  bool open(uint32_t type, AddressRange bytes, const ValueServices& services);
  int file_ = -1;
};

}  // namespace diogenes::values
