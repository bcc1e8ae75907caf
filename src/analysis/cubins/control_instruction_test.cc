// Instructions whose fields were put together by hand, and some as nvcc wrote them.
#include "analysis/cubins/control_instruction.h"

#include <gtest/gtest.h>

#include "analysis/cubins/testing/committed_cubin.h"

namespace diogenes {
namespace {

using namespace testing;
std::optional<ControlInstruction> decoded_bytes(int architecture, const Bytes& bytes, uint32_t at) {
  return control_instruction(architecture, std::span(bytes).first<16>(), at);
}
std::optional<ControlInstruction> decoded(int architecture, const Instruction& one, uint32_t at = 0) {
  return decoded_bytes(architecture, code_of(architecture, {one}), at);
}
std::optional<ControlInstruction> written(int architecture, uint64_t low, uint64_t high, uint32_t at) {
  Bytes bytes(16);
  memcpy(bytes.data(), &low, 8);
  memcpy(bytes.data() + 8, &high, 8);
  return decoded_bytes(architecture, bytes, at);
}

void expect(const std::optional<ControlInstruction>& found, ControlKind kind, bool conditional,
            int64_t target = 0) {
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->kind, kind);
  EXPECT_EQ(found->conditional, conditional);
  EXPECT_EQ(found->target, target);
}

TEST(ControlInstruction, AsTheCompilerWroteThem) {
  // sm_80: a call forwards, a branch back.
  expect(written(80, 0x00000e6000007944, 0x002fea0003c00000, 0x3040), ControlKind::call, false, 0x3eb0);
  expect(written(80, 0xffffee4000007947, 0x000fea000383ffff, 0x1770), ControlKind::branch, false, 0x5c0);
  // sm_90: a branch back under a predicate, a call forwards, a return.
  expect(written(90, 0xfffffffc00d48947, 0x000fea000383ffff, 0x1b0), ControlKind::branch, true, 0x110);
  expect(written(90, 0x0000000000787944, 0x021fea0003c00000, 0x50), ControlKind::call, false, 0x240);
  expect(written(90, 0xfffffffc02247950, 0x000fea0003c3ffff, 0x360), ControlKind::function_return, false);
  // sm_100: by a uniform predicate.
  expect(written(100, 0xfffffffd01c47547, 0x000fec000b83ffff, 0x540), ControlKind::branch, true, 0x460);
  // A multiplication.
  EXPECT_FALSE(written(90, 0x0000000900007221, 0x008fe20000000000, 0));
}

TEST(ControlInstruction, EveryDistanceComesBack) {
  for (const int architecture : {75, 80, 89, 90, 100, 121})
    for (int64_t distance = 16; distance < int64_t{1} << 40; distance *= 2)
      for (const int64_t one : {distance, -distance, distance - 4, 4 - distance})
        for (const uint32_t operation : {kCall, kBranch, kUniformBranch}) {
          const auto found = decoded(architecture, Instruction{operation, one}, 0x120);
          ASSERT_TRUE(found.has_value());
          EXPECT_EQ(found->target, 0x130 + one) << architecture << " " << one;
        }
}

TEST(ControlInstruction, Kinds) {
  for (const int architecture : {80, 90, 100}) {
    expect(decoded(architecture, {kCallByName}), ControlKind::call_by_name, false);
    for (const uint32_t operation : {0x343u, 0x344u, 0xb43u, 0xb44u})
      expect(decoded(architecture, {operation}), ControlKind::call_through_register, false);
    expect(decoded(architecture, {kBranchByTable}), ControlKind::branch_by_table, false);
    for (const uint32_t operation : {kJump, kJumpRegister, 0x347u})
      expect(decoded(architecture, {operation}), ControlKind::jump, false);
    expect(decoded(architecture, {kExit}), ControlKind::exit, false);
    expect(decoded(architecture, {kReturn}), ControlKind::function_return, false);
    expect(decoded(architecture, {.operation = kBreakpoint, .high = 3 << 20}), ControlKind::exit, false);
    for (const uint32_t operation : {kNop, 0x945u, 0x941u, 0x942u, 0x948u, 0x348u, 0x94eu, 0x355u, 0x95du})
      EXPECT_FALSE(decoded(architecture, {operation}));
    EXPECT_FALSE(decoded(architecture, {.operation = kBreakpoint, .high = 1 << 20}));
  }
}

TEST(ControlInstruction, ConditionsOfAllKinds) {
  const auto conditional = [](const Instruction& one) { return decoded(90, one)->conditional; };
  constexpr uint64_t kUniformTrue = uint64_t{7} << 24, kDivergent = uint64_t{2} << 32,
                     kTogether = uint64_t{1} << 32;
  EXPECT_FALSE(conditional({.operation = kBranch}));
  EXPECT_TRUE(conditional({.operation = kBranch, .predicate = 0}));
  EXPECT_TRUE(conditional({.operation = kBranch, .predicate = 15}));
  EXPECT_TRUE(conditional({.operation = kBranch, .second_predicate = 2}));
  EXPECT_TRUE(conditional({.operation = kBranch, .low = kDivergent}));
  EXPECT_FALSE(conditional({.operation = kBranch, .low = kTogether}));
  EXPECT_FALSE(conditional({.operation = kUniformBranch, .low = kUniformTrue}));
  EXPECT_TRUE(conditional({.operation = kUniformBranch, .low = uint64_t{8} << 24}));
  EXPECT_TRUE(conditional({.operation = kUniformBranch, .predicate = 1, .low = kUniformTrue}));
  EXPECT_TRUE(conditional({.operation = kExit, .predicate = 1}));
  EXPECT_TRUE(conditional({.operation = kExit, .second_predicate = 0}));
  EXPECT_TRUE(conditional({.operation = kReturn, .predicate = 9}));
}

TEST(ControlInstruction, ArchitecturesThatAreKnown) {
  for (const int architecture : {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121})
    EXPECT_TRUE(is_known_gpu(architecture));
  for (const int architecture : {0, 52, 70, 72, 99, 130}) EXPECT_FALSE(is_known_gpu(architecture));
}

}  // namespace
}  // namespace diogenes
