// Samples of one function of the GPU's code by inlined frames, loops and lines. In: the function, in its cubin, and its samples
// by instruction. Out: a tree, a parent before its children, with samples of each node alone; and the calls that it makes.
//
// A loop has all samples of its code, whatever function the line of an instruction belongs to: compilers move instructions.
// Frames of an instruction that the loop around it does not have lie below the loop; where it has others, the line alone does.
// Code without lines belongs to the innermost loop or function that is known.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/cubins/cubin.h"
#include "analysis/kernel_samples/sample_counts.h"

namespace diogenes {

// Of an instruction of a cubin: one reason.
struct InstructionSample {
  GpuFunctionIndex function;
  uint32_t offset = 0;  // bytes from where the function's section starts
  uint32_t reason = 0;  // by number
  double samples = 0, latency = 0;
};

struct FunctionTree {
  enum class Kind : uint8_t { function, inlined, loop, line };
  // Texts are valid as long as the cubin.
  struct Node {
    uint32_t parent = 0;
    Kind kind = Kind::function;
    std::string_view function, file;  // function: mangled; empty: not known
    uint32_t line = 0;         // loop: the first; function, inlined: the first that was sampled; 0: not known
    uint32_t last_line = 0;    // loop
    uint32_t called_line = 0;  // inlined: where it is called; 0: not known
    SampleCounts own = {};
  };
  struct Call {
    GpuFunctionIndex callee;
    uint32_t node = 0;  // that makes it
    uint32_t line = 0;  // 0: not known
    double calls = 0;   // how often it was made: issued samples of an instruction of its block, on average
    double issued = 0;  // samples of its block that this rests on
  };
  std::vector<Node> nodes;  // the function first
  std::vector<Call> calls;
  bool loops_known = true;
};

// `samples`: of this function, by offset. `issued`: number of the reason that says so. Calls into other sections are left out:
// such functions have no samples that are known to be of this kernel. So are calls beyond `most_calls`.
FunctionTree make_function_tree(const Cubin& cubin, GpuFunctionIndex function,
                                std::span<const InstructionSample> samples, uint32_t issued,
                                size_t most_calls = 100'000);

}  // namespace diogenes
