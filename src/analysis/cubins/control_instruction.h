// What an instruction of a GPU does to the flow of control. In: an instruction's 16 bytes and the architecture. Out: where it
// goes on. Instructions that have no part in it are not told apart.
//
// Source: files that nvcc 13 wrote for sm_75 to sm_121. The fields are those by which another decoder found what nvdisasm found
// (391 instructions, 323 targets); not compared were 0x547, traps, and this code. In larger programs for all these architectures
// each direct call leads to where a function starts or into its own function, each branch into its own function.
//
//   bits 0 to 11   the operation; of these 9 to 11 say where its operand comes from (4: it is in the instruction; 1: a register)
//   bits 12 to 15  the predicate under which it is executed, and whether that is negated. 7: always
//   bits 16 to 23  from sm_90 on: the lowest bits of a distance
//   bits 24 to 27  of a branch by a uniform predicate (operation 0x547): that predicate
//   bits 32 to 33  of a branch: 1: the threads of a warp agree, 2: taken if they are not together
//   bits 34 to 81  a distance from the next instruction, in units of 4 bytes; with a sign
//   bits 84 to 86  of a breakpoint (0x95c): 3: a trap. The kernel ends in an error
//   bits 87 to 90  of a branch and an exit: a second predicate
//
// A warp that waits for its other threads (BSYNC) goes on at the instruction behind it: of 3,132, each stood right before the
// place that its BSSY names. So neither is a branch.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

namespace diogenes {

inline constexpr uint32_t kGpuInstructionBytes = 16;

enum class ControlKind : uint8_t {
  call,                   // to `target`
  call_by_name,           // to what a relocation names
  call_through_register,  // or memory
  branch,                 // to `target`
  branch_by_table,        // to places that .nv.info lists, if it does
  jump,                   // it is not known where to
  exit,                   // or a trap
  function_return,
};

struct ControlInstruction {
  ControlKind kind;
  bool conditional;    // the next instruction may follow
  int64_t target = 0;  // bytes from where the section starts; not checked
};

// Is the code of this architecture known? 90: sm_90.
bool is_known_gpu(int architecture);

// Nothing: the next instruction follows. `at`: its position, in bytes from where the section starts.
std::optional<ControlInstruction> control_instruction(int architecture,
                                                      std::span<const uint8_t, kGpuInstructionBytes> bytes,
                                                      uint32_t at);

}  // namespace diogenes
