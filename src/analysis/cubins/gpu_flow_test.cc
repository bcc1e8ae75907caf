// Blocks and loops of code by hand, and those of testdata/subject.cu.
#include "analysis/cubins/gpu_flow.h"

#include <set>

#include "analysis/cubins/testing/committed_cubin.h"
#include "driver/testing/cubin_builder.h"

namespace diogenes {
namespace {

using namespace testing;

// A kernel "k" of these instructions, for sm_90; `attributes`: of .nv.info.
Cubin cubin_of(const std::vector<Instruction>& instructions, const Bytes& attributes = {}) {
  CubinBuilder builder(90);
  const uint32_t section = builder.code("k", code_of(90, instructions));
  builder.kernel("k", section, instructions.size() * 16);
  builder.section(".nv.info.k", SHT_LOPROC, attributes, section);
  auto cubin = Cubin::read(builder.build());
  EXPECT_TRUE(cubin.ok() && cubin->has_control_flow()) << cubin->doubt().c_str();
  return std::move(*cubin);
}

// "0-2 > 1 2": instructions of the block, and its successors.
std::vector<std::string> blocks_of(const GpuFlow& flow) {
  std::vector<std::string> found;
  for (const GpuBlock& block : flow.blocks()) {
    std::string text = std::to_string(block.begin / 16) + "-" + std::to_string(block.end / 16 - 1) + " >";
    for (const uint32_t next : block.successors) text += " " + std::to_string(next);
    found.push_back(text);
  }
  return found;
}
using Blocks = std::vector<std::string>;

TEST(GpuFlow, BlocksEndAtBranchesAndBeginAtTargets) {
  const Cubin cubin = cubin_of({{kNop},
                                {.operation = kBranch, .distance = 32, .predicate = 0},
                                {kCallRegister},
                                {.operation = kExit, .predicate = 1},
                                {kNop},
                                {kExit},
                                {kBranch, -16}});
  const GpuFlow flow(cubin, {0});
  EXPECT_EQ(blocks_of(flow), (Blocks{"0-1 > 1 2", "2-3 > 2", "4-5 >", "6-6 > 3"}));
  EXPECT_EQ(flow.control().size(), 5u);
  // The last block leads to itself, but nothing leads there.
  EXPECT_TRUE(flow.loops().empty());
  EXPECT_TRUE(flow.all_loops_known());
  EXPECT_EQ(flow.block_at(0), 0u);
  EXPECT_EQ(flow.block_at(63), 1u);
  EXPECT_EQ(flow.block_at(7 * 16), GpuFlow::kNone);
}

TEST(GpuFlow, LoopsAreNested) {
  // 1 to 4 around 2 to 3.
  const Cubin cubin = cubin_of({{kNop},
                                {.operation = kBranch, .distance = 64, .predicate = 0},
                                {kNop},
                                {.operation = kBranch, .distance = -32, .predicate = 1},
                                {kNop},
                                {kBranch, -80},
                                {kExit}});
  const GpuFlow flow(cubin, {0});
  ASSERT_EQ(flow.loops().size(), 2u);
  const GpuLoop &inner = flow.loops()[0], &outer = flow.loops()[1];
  EXPECT_EQ(inner.depth, 2u);
  EXPECT_EQ(inner.parent, 1u);
  EXPECT_EQ(inner.back, 3u * 16);
  EXPECT_EQ(flow.blocks()[inner.head].begin, 2u * 16);
  EXPECT_EQ(outer.depth, 1u);
  EXPECT_EQ(outer.parent, GpuLoop::kNone);
  EXPECT_EQ(outer.back, 5u * 16);
  EXPECT_EQ(flow.blocks()[outer.head].begin, 16u);
  EXPECT_EQ(flow.loop_at(0), GpuFlow::kNone);
  EXPECT_EQ(flow.loop_at(16), 1u);
  EXPECT_EQ(flow.loop_at(2 * 16 + 8), 0u);
  EXPECT_EQ(flow.loop_at(4 * 16), 1u);
  EXPECT_EQ(flow.loop_at(6 * 16), GpuFlow::kNone);
  EXPECT_TRUE(flow.all_loops_known());
}

TEST(GpuFlow, ABranchByTableLeadsToWhatIsListed) {
  const std::vector<Instruction> code{{kNop}, {kBranchByTable}, {kBranch, -48}, {kBranch, -64}, {kExit}};
  Bytes attributes{4, 0x34, 24, 0};
  for (const uint32_t one : {16, 0, 3, 32, 48, 64}) CubinBuilder::append(attributes, one);
  const Cubin listed = cubin_of(code, attributes), unlisted = cubin_of(code);
  const GpuFlow flow(listed, {0}), unknown(unlisted, {0});
  EXPECT_EQ(blocks_of(flow), (Blocks{"0-1 > 1 2 3", "2-2 > 0", "3-3 > 0", "4-4 >"}));
  ASSERT_EQ(flow.loops().size(), 1u);
  EXPECT_EQ(flow.loops()[0].blocks, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(flow.loops()[0].back, 48u);
  EXPECT_TRUE(flow.all_loops_known());
  EXPECT_EQ(blocks_of(unknown)[0], "0-1 >");
  EXPECT_TRUE(unknown.has_unknown_jumps());
  EXPECT_FALSE(unknown.all_loops_known());
}

TEST(GpuFlow, TargetsThatAreNoPlacesAreNotKnown) {
  const std::vector<Instruction> code{{kBranchByTable}, {kExit}};
  for (const uint32_t target : {24u, 32u, 0xfffffff0u}) {
    Bytes attributes{4, 0x34, 16, 0};
    for (const uint32_t one : {0u, 0u, 1u, target}) CubinBuilder::append(attributes, one);
    const Cubin cubin = cubin_of(code, attributes);
    EXPECT_TRUE(GpuFlow(cubin, {0}).has_unknown_jumps()) << target;
  }
  for (const uint32_t jump : {kJump, kJumpRegister}) {
    const Cubin cubin = cubin_of({{jump}, {kExit}});
    EXPECT_TRUE(GpuFlow(cubin, {0}).has_unknown_jumps());
  }
}

TEST(GpuFlow, ACycleWithTwoWaysInIsSaid) {
  const Cubin cubin = cubin_of({{.operation = kBranch, .distance = 16, .predicate = 0},
                                {kNop},
                                {.operation = kBranch, .distance = -32, .predicate = 1},
                                {kExit}});
  const GpuFlow flow(cubin, {0});
  EXPECT_TRUE(flow.loops().empty());
  EXPECT_TRUE(flow.has_irreducible_cycles());
  EXPECT_FALSE(flow.all_loops_known());
}

TEST(GpuFlow, WithoutControlFlowThereAreNoBlocks) {
  CubinBuilder builder(70);
  builder.kernel("k", builder.code("k", Bytes(64)), 64);
  auto cubin = Cubin::read(builder.build());
  ASSERT_TRUE(cubin.ok());
  const GpuFlow flow(*cubin, {0});
  EXPECT_TRUE(flow.blocks().empty());
  EXPECT_EQ(flow.block_at(0), GpuFlow::kNone);
  EXPECT_EQ(flow.loop_at(0), GpuFlow::kNone);
}

TEST(GpuFlow, AFunctionThatIsTooLargeHasNoBlocks) {
  for (const size_t more : {0, 1}) {
    CubinBuilder builder(90);
    const size_t size = (GpuFlow::kMostInstructions + more) * kGpuInstructionBytes;
    builder.kernel("k", builder.code("k", Bytes(size)), size);
    auto cubin = Cubin::read(builder.build());
    ASSERT_TRUE(cubin.ok() && cubin->has_control_flow());
    EXPECT_EQ(GpuFlow(*cubin, {0}).blocks().empty(), more > 0);
    EXPECT_EQ(GpuFlow(*cubin, {0}).all_loops_known(), more == 0);
  }
}

class FlowOf : public ::testing::TestWithParam<int> {};

TEST_P(FlowOf, BlocksCoverTheFunctionsAndLoopsLieInOneAnotherOrApart) {
  for (const char* name : {"subject_sm_", "linked_sm_"}) {
    const Cubin cubin = committed_cubin(name + std::to_string(GetParam()));
    for (uint32_t i = 0; i < cubin.functions().size(); ++i) {
      const GpuFlow flow(cubin, {i});
      EXPECT_TRUE(flow.all_loops_known());
      uint32_t at = cubin.function({i}).begin;
      for (const GpuBlock& block : flow.blocks()) {
        EXPECT_EQ(block.begin, at);
        EXPECT_GT(block.end, at);
        at = block.end;
      }
      EXPECT_EQ(at, cubin.function({i}).end);
      for (const GpuLoop& loop : flow.loops()) {
        const std::set<uint32_t> blocks(loop.blocks.begin(), loop.blocks.end());
        EXPECT_EQ(blocks.count(loop.head), 1u);
        if (loop.parent == GpuLoop::kNone) {
          EXPECT_EQ(loop.depth, 1u);
          continue;
        }
        const GpuLoop& around = flow.loops()[loop.parent];
        EXPECT_EQ(loop.depth, around.depth + 1);
        for (const uint32_t block : loop.blocks)
          EXPECT_TRUE(std::binary_search(around.blocks.begin(), around.blocks.end(), block));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, FlowOf, ::testing::Values(80, 90, 100));

}  // namespace
}  // namespace diogenes
