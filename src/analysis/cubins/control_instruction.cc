#include "analysis/cubins/control_instruction.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace diogenes {
namespace {

// What nvcc 13 compiles for.
constexpr std::array kKnown = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
constexpr int kFirstWithSplitDistance = 90;

constexpr uint32_t kAlways = 7;     // a predicate that is true
constexpr uint32_t kDivergent = 2;  // bits 32 to 33
constexpr uint32_t kTrap = 3;       // bits 84 to 86

struct Halves {
  uint64_t low, high;

  uint32_t bits(unsigned first, unsigned count) const {
    const uint64_t shifted = first >= 64  ? high >> (first - 64)
                             : first == 0 ? low
                                          : low >> first | high << (64 - first);
    return static_cast<uint32_t>(shifted & ((uint64_t{1} << count) - 1));
  }
};

int64_t distance(int architecture, const Halves& code) {
  // 30 bits of the lower half, 18 of the upper one, moved to the top so that the shift back extends the sign.
  const uint64_t field = code.low >> 34 | code.high << 30;
  const int64_t far = static_cast<int64_t>(field << 16) >> 16;
  return architecture >= kFirstWithSplitDistance ? (far * 256 + code.bits(16, 8)) * 4 : far * 4;
}

}  // namespace

bool is_known_gpu(int architecture) {
  return std::find(kKnown.begin(), kKnown.end(), architecture) != kKnown.end();
}

std::optional<ControlInstruction> control_instruction(int architecture,
                                                      std::span<const uint8_t, kGpuInstructionBytes> bytes,
                                                      uint32_t at) {
  Halves code{};
  memcpy(&code, bytes.data(), sizeof code);
  const bool guarded = code.bits(12, 4) != kAlways, guarded_twice = code.bits(87, 4) != kAlways;
  const auto with_target = [&](ControlKind kind, bool conditional) {
    return ControlInstruction{kind, conditional,
                              int64_t{at} + kGpuInstructionBytes + distance(architecture, code)};
  };
  const uint32_t operation = code.bits(0, 12);
  switch (operation) {
    case 0x944:
      return with_target(ControlKind::call, guarded);
    case 0x943:
      return ControlInstruction{ControlKind::call_by_name, guarded};
    case 0x947:
      return with_target(ControlKind::branch, guarded || guarded_twice || code.bits(32, 2) == kDivergent);
    case 0x547:
      return with_target(ControlKind::branch, guarded || guarded_twice || code.bits(24, 4) != kAlways);
    case 0x95c:
      if (code.bits(84, 3) != kTrap) return std::nullopt;
      return ControlInstruction{ControlKind::exit, guarded};
    default:
      break;
  }
  switch (operation & 0x1ff) {
    case 0x143:
    case 0x144:
      return ControlInstruction{ControlKind::call_through_register, guarded};
    case 0x149:
      return ControlInstruction{ControlKind::branch_by_table, guarded};
    case 0x147:
    case 0x14a:
    case 0x14c:
      return ControlInstruction{ControlKind::jump, guarded};
    case 0x14d:
      return ControlInstruction{ControlKind::exit, guarded || guarded_twice};
    case 0x150:
      return ControlInstruction{ControlKind::function_return, guarded};
    default:
      return std::nullopt;
  }
}

}  // namespace diogenes
