// Instructions at which a program touched guarded memory, as the agent looks at them
// (agent/watching/guard/faults/instruction.h).
#include "agent/watching/guard/faults/instruction.h"

#include <algorithm>
#include <vector>

#include "target.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  constexpr size_t kLongest = 15;
  for (size_t begin = 0; begin < bytes.size(); ++begin) {
    // In a block of its own, so that a read past its end is seen.
    const std::vector<uint8_t> code(
        bytes.begin() + static_cast<ptrdiff_t>(begin),
        bytes.begin() + static_cast<ptrdiff_t>(std::min(bytes.size(), begin + kLongest)));
    const agent::Reach reach = agent::reach_of(code.data(), static_cast<uint32_t>(code.size()));
    require(reach.anywhere || reach.bytes > 0, "every access has a length, or may be anywhere");
  }
}

}  // namespace diogenes::fuzz
