// Unwind information (driver/hooking/eh_frame.h).
#include "driver/hooking/eh_frame.h"
#include "target.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  for (uint64_t address : {uint64_t{0x1000}, UINT64_MAX - 16}) {
    const auto functions = parse_eh_frame(bytes, address);
    require(functions.size() <= bytes.size(), "no more functions than bytes");
  }
  for (unsigned encoding = 0; encoding < 256; ++encoding) {
    size_t position = 0;
    uint64_t value = 0;
    for (int i = 0; i < 4; ++i) {
      if (!read_encoded(bytes, 0x1000, static_cast<uint8_t>(encoding), &position, &value)) break;
      require(position <= bytes.size(), "a pointer lies inside the bytes");
    }
  }
}

}  // namespace diogenes::fuzz
