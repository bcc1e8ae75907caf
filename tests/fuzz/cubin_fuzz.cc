// GPU code (driver/cubin_file.h, analysis/cubins): sections, the kept copy, functions, lines, control flow, loops; and samples
// of it by these (analysis/kernel_samples/function_tree.h).
#include <algorithm>

#include "analysis/cubins/gpu_source_loops.h"
#include "analysis/kernel_samples/function_tree.h"
#include "target.h"

namespace diogenes::fuzz {
namespace {

// Of a damaged file each function may be as large as all of it.
constexpr size_t kMostFunctions = 32, kMostPlaces = 512;

std::vector<uint8_t> kept_part(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> kept;
  const auto file = CubinFile::read(bytes);
  if (!file) return kept;
  const Status written = file->write_kept_part([&](std::span<const uint8_t> part) {
    kept.insert(kept.end(), part.begin(), part.end());
    return true;
  });
  require(written.ok() || kept.empty(), "what is not kept is not begun");
  require(kept.size() <= bytes.size() + 8 * file->section_count(),
          "the kept part is not larger than the whole");
  return kept;
}

void look_at(const Cubin& cubin, GpuFunctionIndex index) {
  const GpuFunction& function = cubin.function(index);
  require(function.begin < function.end, "a function has code");
  const GpuFlow flow(cubin, index);
  require(cubin.has_control_flow() || flow.blocks().empty(), "blocks only where control flow is known");
  for (const GpuBlock& block : flow.blocks()) {
    require(function.begin <= block.begin && block.begin < block.end && block.end <= function.end,
            "a block lies in its function");
    for (const uint32_t next : block.successors)
      require(next < flow.blocks().size(), "a successor is a block");
  }
  for (const GpuLoop& loop : flow.loops()) {
    require(std::binary_search(loop.blocks.begin(), loop.blocks.end(), loop.head), "a loop holds its head");
    require((loop.parent == GpuLoop::kNone) == (loop.depth == 1), "an outermost loop has depth 1");
    require(function.begin <= loop.back && loop.back < function.end, "a loop goes back in its function");
  }
  const GpuSourceLoops source = find_gpu_source_loops(cubin, index, flow);
  size_t folded = 0;
  for (const GpuSourceLoop& loop : source.loops) folded += loop.code.size();
  require(folded == flow.loops().size(), "each loop of the code belongs to one of the source");
  for (const GpuFunctionIndex one : cubin.candidates(index))
    require(one.value < cubin.functions().size(), "a candidate is a function");
  std::vector<InstructionSample> samples;
  for (uint32_t offset = function.begin; offset < function.end && samples.size() < kMostPlaces; offset += 8)
    samples.push_back({index, offset, offset / 8 % 2, 1, 0});
  const FunctionTree tree = make_function_tree(cubin, index, samples, 1);
  double own = 0;
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    own += tree.nodes[i].own.all();
    require(i == 0 || tree.nodes[i].parent < i, "a parent comes before its children");
  }
  require(own == static_cast<double>(samples.size()), "no sample is lost");
  for (const FunctionTree::Call& call : tree.calls)
    require(call.callee.value < cubin.functions().size() && call.node < tree.nodes.size(),
            "a call is made by a node, of a function");
  size_t places = 0;
  for (uint32_t offset = function.begin; offset < function.end && ++places < kMostPlaces; ++offset) {
    const auto frames = cubin.frames_at({index, offset});
    require(frames.size() <= GpuLines::kMostFrames, "a chain ends");
    require(frames.empty() || frames.size() == GpuLines::kMostFrames || frames[0].function == function.name,
            "the outermost frame is the function");
    require(flow.blocks().empty() || flow.block_at(offset) < flow.blocks().size() ||
                offset >= flow.blocks().back().end,
            "each place is in a block");
  }
}

}  // namespace

void run_on(std::span<const uint8_t> bytes) {
  const std::vector<uint8_t> kept = kept_part(bytes);
  require(kept.empty() || kept_part(kept) == kept, "a copy of a copy is the same");
  const auto cubin = Cubin::read({bytes.begin(), bytes.end()});
  if (!cubin) {
    require(cubin.error().c_str()[0] != 0, "an error says something");
    return;
  }
  const auto count = static_cast<uint32_t>(std::min(cubin->functions().size(), kMostFunctions));
  for (uint32_t i = 0; i < count; ++i) look_at(*cubin, {i});
  if (kept.empty()) return;
  const auto copy = Cubin::read(kept);
  require(!copy.ok() || copy->functions().size() <= cubin->functions().size(),
          "a copy has no more functions");
}

}  // namespace diogenes::fuzz
