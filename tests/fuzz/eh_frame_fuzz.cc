// Unwind information (driver/hooking/eh_frame.h).
#include "driver/hooking/eh_frame.h"
#include "target.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  for (uint64_t address : {uint64_t{0x1000}, UINT64_MAX - 16}) {
    const auto functions = parse_eh_frame(bytes, address);
    require(functions.size() <= bytes.size(), "no more functions than bytes");
  }
}

}  // namespace diogenes::fuzz
