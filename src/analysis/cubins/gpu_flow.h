// Basic blocks and natural loops of a function of a GPU's code. In: the function, in its cubin. Out: a graph, which holds no view
// of the cubin. Loops are found as in the CPU's code (analysis/samples/natural_loops.h).
//
// Every call is taken to return. A block that ends in a jump to an unknown place has no successor; places that only such a jump
// reaches are taken for entries.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/cubins/cubin.h"

namespace diogenes {

struct GpuBlock {
  uint32_t begin = 0, end = 0;       // [begin, end), bytes from where the section starts
  std::vector<uint32_t> successors;  // blocks, sorted, none twice
};

struct GpuLoop {
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t head = 0;             // the block through which alone it is entered
  uint32_t depth = 1;            // 1: no loop around it in this function
  uint32_t parent = kNone;       // the loop around it
  std::vector<uint32_t> blocks;  // sorted; those of inner loops included
  uint32_t back =
      0;  // where its last block with an edge to the head ends: the offset of that block's last instruction
};

class GpuFlow {
 public:
  static constexpr size_t kMostInstructions = 200'000;  // 3.2 MB of code
  static constexpr uint32_t kNone = UINT32_MAX;

  // Without blocks where the cubin's control flow is not known, or the function is larger than that.
  GpuFlow(const Cubin& cubin, GpuFunctionIndex function);

  const std::vector<GpuBlock>& blocks() const { return blocks_; }      // by begin
  const std::vector<GpuControl>& control() const { return control_; }  // by offset
  const std::vector<GpuLoop>& loops() const { return loops_; }         // inner ones first

  // The block, and the innermost loop, that holds an offset from where the section starts. kNone: none does.
  uint32_t block_at(uint32_t offset) const;
  uint32_t loop_at(uint32_t offset) const;

  // Is every loop in `loops`? There may be others where a jump leads to an unknown place, and where a cycle can be entered in two
  // places: that has no head, and is no loop.
  bool all_loops_known() const { return !blocks_.empty() && !has_unknown_jumps_ && !has_irreducible_cycles_; }
  bool has_unknown_jumps() const { return has_unknown_jumps_; }
  bool has_irreducible_cycles() const { return has_irreducible_cycles_; }

 private:
  struct Exits {  // of a block
    uint32_t last = 0;
    bool next = true;
    std::vector<uint32_t> targets;  // offsets
  };

  void find_blocks(const GpuFunction& function, const std::vector<Exits>& exits);
  void find_loops();

  std::vector<GpuBlock> blocks_;
  std::vector<GpuControl> control_;
  std::vector<GpuLoop> loops_;
  std::vector<uint32_t> innermost_;  // loop, by block
  bool has_unknown_jumps_ = false, has_irreducible_cycles_ = false;
};

}  // namespace diogenes
