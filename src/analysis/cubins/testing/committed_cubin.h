// The cubins of testdata/, and GPU code by hand.
#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "analysis/cubins/cubin.h"

namespace diogenes::testing {

using Bytes = std::vector<uint8_t>;

inline Bytes committed_cubin_bytes(const std::string& name) {
  std::ifstream in(DIOGENES_CUBINS "/" + name + ".cubin", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline Cubin committed_cubin(const std::string& name) {
  auto cubin = Cubin::read(committed_cubin_bytes(name));
  EXPECT_TRUE(cubin.ok()) << name << ": " << cubin.error().c_str();
  return std::move(*cubin);
}

// Not valid where there is none: only for names that are there once, or in one kernel.
inline GpuFunctionIndex function_named(const Cubin& cubin, std::string_view name) {
  for (uint32_t i = 0; i < cubin.functions().size(); ++i)
    if (cubin.functions()[i].name == name) return {i};
  ADD_FAILURE() << name << " is not there";
  return {};
}

// An instruction by its fields (analysis/cubins/control_instruction.h). `distance`: bytes from the next instruction.
struct Instruction {
  uint32_t operation;
  int64_t distance = 0;
  uint32_t predicate = 7, second_predicate = 7;
  uint64_t low = 0, high = 0;  // further bits

  void append(int architecture, Bytes& to) const {
    const uint64_t units = static_cast<uint64_t>(distance / 4), far = architecture >= 90 ? units >> 8 : units;
    const uint64_t near = architecture >= 90 ? (units & 0xff) << 16 : 0;
    const uint64_t halves[] = {operation | uint64_t{predicate} << 12 | near | far << 34 | low,
                               (far >> 30 & 0x3ffff) | uint64_t{second_predicate} << 23 | high};
    const auto* bytes = reinterpret_cast<const uint8_t*>(halves);
    to.insert(to.end(), bytes, bytes + sizeof halves);
  }
};
inline Bytes code_of(int architecture, const std::vector<Instruction>& instructions) {
  Bytes bytes;
  for (const Instruction& one : instructions) one.append(architecture, bytes);
  return bytes;
}

// Of operations: what a test's code consists of.
inline constexpr uint32_t kNop = 0x918, kCall = 0x944, kCallByName = 0x943, kCallRegister = 0x344,
                          kBranch = 0x947, kUniformBranch = 0x547, kBranchByTable = 0x949, kJump = 0x94a,
                          kJumpRegister = 0x94c, kExit = 0x94d, kReturn = 0x950, kBreakpoint = 0x95c;

}  // namespace diogenes::testing
