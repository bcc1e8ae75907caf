// Loops of the source in a function of a GPU's code. In: its loops (gpu_flow.h) and lines. Out: each loop of the source with its
// lines, and the calls that were inlined around it. One loop of the source may be several of the code: the compiler unrolls it,
// leaves a loop for what remains, or copies it for a condition. Loops of the code are one if the calls around them are the same,
// the loop of the source around them is the same, and they begin or end at the same line. So are two loops of the source on one
// line.
//
// A loop belongs to the function, inlined or not, that its last branch back to its head belongs to. Its lines are those of its
// code that belongs to the same function by the same calls. The first is the `for` or the `while`, except of a `do`. The line of
// the branch itself says less: for sm_100, nvcc gives it that of an instruction before it.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/cubins/cubin.h"
#include "analysis/cubins/gpu_flow.h"

namespace diogenes {

struct GpuSourceLoop {
  static constexpr uint32_t kNone = UINT32_MAX;

  // Outermost first; the last is the loop's function, with its first line. None: there are no lines for it, and it is folded with
  // no other.
  std::vector<GpuFrame> frames;
  uint32_t last_line = 0;
  uint32_t parent = kNone;     // the source loop around it
  uint32_t depth = 1;          // 1: no loop around it in this function of the code
  std::vector<uint32_t> code;  // indices into GpuFlow::loops()
};

struct GpuSourceLoops {
  std::vector<GpuSourceLoop> loops;  // outer ones first
  std::vector<uint32_t> of_code;     // by index into GpuFlow::loops(): index into `loops`
};

// Frames are valid as long as the cubin.
GpuSourceLoops find_gpu_source_loops(const Cubin& cubin, GpuFunctionIndex function, const GpuFlow& flow);

}  // namespace diogenes
