#include "analysis/cubins/gpu_flow.h"

#include <algorithm>

#include "analysis/samples/natural_loops.h"

namespace diogenes {
namespace {

bool ends_block(ControlKind kind) {
  return kind != ControlKind::call && kind != ControlKind::call_by_name &&
         kind != ControlKind::call_through_register;
}

}  // namespace

GpuFlow::GpuFlow(const Cubin& cubin, GpuFunctionIndex index) {
  const GpuFunction& function = cubin.function(index);
  if (!cubin.has_control_flow() || (function.end - function.begin) / kGpuInstructionBytes > kMostInstructions)
    return;
  control_ = cubin.control_of(index);
  std::vector<Exits> exits;
  for (const GpuControl& control : control_) {
    const ControlKind kind = control.instruction.kind;
    if (!ends_block(kind)) continue;
    Exits& one = exits.emplace_back(Exits{control.offset, control.instruction.conditional, {}});
    if (kind == ControlKind::branch) one.targets = {static_cast<uint32_t>(control.instruction.target)};
    if (kind == ControlKind::branch_by_table) one.targets = cubin.branch_targets(index, control.offset);
    has_unknown_jumps_ |=
        one.targets.empty() && (kind == ControlKind::branch_by_table || kind == ControlKind::jump);
  }
  find_blocks(function, exits);
  find_loops();
}

void GpuFlow::find_blocks(const GpuFunction& function, const std::vector<Exits>& exits) {
  std::vector<uint32_t> begins{function.begin};
  for (const Exits& one : exits) {
    begins.push_back(one.last + kGpuInstructionBytes);
    begins.insert(begins.end(), one.targets.begin(), one.targets.end());
  }
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  // Behind the last whole instruction there is no block.
  const uint32_t size = (function.end - function.begin) / kGpuInstructionBytes * kGpuInstructionBytes;
  std::erase_if(begins, [&](uint32_t begin) { return begin >= function.begin + size; });
  for (size_t i = 0; i < begins.size(); ++i)
    blocks_.push_back({begins[i], i + 1 < begins.size() ? begins[i + 1] : function.begin + size, {}});

  auto exit = exits.begin();
  for (uint32_t i = 0; i < blocks_.size(); ++i) {
    std::vector<uint32_t>& successors = blocks_[i].successors;
    const bool ends_here = exit != exits.end() && exit->last + kGpuInstructionBytes == blocks_[i].end;
    if ((!ends_here || exit->next) && i + 1 < blocks_.size()) successors.push_back(i + 1);
    if (!ends_here) continue;
    for (const uint32_t target : exit->targets)
      if (const uint32_t block = block_at(target); block != kNone) successors.push_back(block);
    std::sort(successors.begin(), successors.end());
    successors.erase(std::unique(successors.begin(), successors.end()), successors.end());
    ++exit;
  }
}

void GpuFlow::find_loops() {
  std::vector<std::vector<uint32_t>> graph;
  for (const GpuBlock& block : blocks_) graph.push_back(block.successors);
  const std::vector<NaturalLoop> natural = natural_loops(graph);
  has_irreducible_cycles_ = has_other_cycles(graph, natural);
  innermost_.assign(blocks_.size(), kNone);
  loops_.resize(natural.size());
  for (size_t i = natural.size(); i-- > 0;) {  // outer ones first
    GpuLoop& loop = loops_[i];
    loop.head = natural[i].head;
    loop.depth = natural[i].depth;
    loop.parent = innermost_[loop.head];
    loop.blocks = natural[i].nodes;
    for (const uint32_t block : loop.blocks) {
      innermost_[block] = static_cast<uint32_t>(i);
      if (std::binary_search(graph[block].begin(), graph[block].end(), loop.head))
        loop.back = blocks_[block].end - kGpuInstructionBytes;
    }
  }
}

uint32_t GpuFlow::block_at(uint32_t offset) const {
  const auto next =
      std::upper_bound(blocks_.begin(), blocks_.end(), offset,
                       [](uint32_t wanted, const GpuBlock& block) { return wanted < block.begin; });
  if (next == blocks_.begin() || offset >= std::prev(next)->end) return kNone;
  return static_cast<uint32_t>(next - blocks_.begin() - 1);
}

uint32_t GpuFlow::loop_at(uint32_t offset) const {
  const uint32_t block = block_at(offset);
  return block == kNone ? kNone : innermost_[block];
}

}  // namespace diogenes
