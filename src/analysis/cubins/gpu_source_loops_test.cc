// The loops of testdata/subject.cu and testdata/linked_functions.cu, by the lines of these files.
#include "analysis/cubins/gpu_source_loops.h"

#include <algorithm>
#include <set>

#include "analysis/cubins/testing/committed_cubin.h"

namespace diogenes {
namespace {

using namespace testing;

class SourceLoopsOf : public ::testing::TestWithParam<int> {
 protected:
  // "depth: function:first-last" of each loop, sorted.
  std::vector<std::string> loops(const std::string& function) { return loops(subject_, function); }
  static std::vector<std::string> loops(const Cubin& cubin, const std::string& function) {
    const GpuFunctionIndex index = function_named(cubin, function);
    const GpuFlow flow(cubin, index);
    std::vector<std::string> found;
    for (const GpuSourceLoop& loop : find_gpu_source_loops(cubin, index, flow).loops) {
      std::string text = std::to_string(loop.depth) + ": ";
      for (size_t i = 0; i + 1 < loop.frames.size(); ++i) text += std::to_string(loop.frames[i].line) + " > ";
      const GpuFrame& own = loop.frames.back();
      found.push_back(text + std::string(own.function) + ":" + std::to_string(own.line) + "-" +
                      std::to_string(loop.last_line));
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  Cubin subject_ = committed_cubin("subject_sm_" + std::to_string(GetParam()));
  Cubin linked_ = committed_cubin("linked_sm_" + std::to_string(GetParam()));
};
using Loops = std::vector<std::string>;

TEST_P(SourceLoopsOf, OneInEachInstanceOfATemplate) {
  EXPECT_EQ(loops("_Z6scaledILi2EEvPfi"), Loops{"1: _Z6scaledILi2EEvPfi:18-19"});
  EXPECT_EQ(loops("_Z6scaledILi7EEvPfi"), Loops{"1: _Z6scaledILi7EEvPfi:18-19"});
}

TEST_P(SourceLoopsOf, NestedAsInTheSource) {
  EXPECT_EQ(loops("_Z6nestedPfi"), (Loops{"1: _Z6nestedPfi:59-69", "2: _Z6nestedPfi:61-64",
                                          "2: _Z6nestedPfi:68-69", "3: _Z6nestedPfi:63-64"}));
}

TEST_P(SourceLoopsOf, InFunctionsThatWereNotInlined) {
  EXPECT_EQ(loops("_Z6middlefi"), Loops{"1: _Z6middlefi:33-34"});
  ASSERT_EQ(loops("_Z4leaffi").size(), 1u);
  EXPECT_EQ(loops("_Z4leaffi")[0].substr(0, 15), "1: _Z4leaffi:26");
  EXPECT_EQ(loops(linked_, "_Z8far_awayfi"), Loops{"1: _Z8far_awayfi:7-8"});
  for (const char* none : {"_Z6directPfi", "_Z5depthi", "_Z9recursivePi", "_Z15through_pointerPfi"})
    EXPECT_TRUE(loops(none).empty()) << none;
}

TEST_P(SourceLoopsOf, TheUnrolledLoopAndItsRemainderAreOne) {
  const GpuFunctionIndex index = function_named(subject_, "_Z8unrolledPfPKfi");
  const GpuFlow flow(subject_, index);
  const GpuSourceLoops found = find_gpu_source_loops(subject_, index, flow);
  EXPECT_EQ(loops("_Z8unrolledPfPKfi"), Loops{"1: _Z8unrolledPfPKfi:76-77"});
  EXPECT_EQ(found.loops[0].code.size(), 2u);
  EXPECT_EQ(found.of_code, (std::vector<uint32_t>{0, 0}));
}

TEST_P(SourceLoopsOf, InlinedInTwoPlacesTheyAreTwo) {
  const GpuFunctionIndex index = function_named(subject_, "_Z5twicePfi");
  const GpuFlow flow(subject_, index);
  EXPECT_EQ(loops("_Z5twicePfi"),
            (Loops{"1: 107 > _Z6sum_ofPKfi:102-103", "1: 108 > _Z6sum_ofPKfi:102-103"}));
  for (const GpuSourceLoop& loop : find_gpu_source_loops(subject_, index, flow).loops)
    EXPECT_EQ(loop.code.size(), 2u);
}

TEST_P(SourceLoopsOf, TheCasesOfASwitchAreInTheLoopAroundIt) {
  EXPECT_EQ(loops("_Z5casesPfii"), Loops{"1: _Z5casesPfii:83-92"});
  const GpuFunctionIndex index = function_named(subject_, "_Z5casesPfii");
  const GpuFlow flow(subject_, index);
  std::set<uint32_t> inside, outside;
  const GpuFunction& function = subject_.function(index);
  for (uint32_t offset = function.begin; offset < function.end; offset += kGpuInstructionBytes) {
    const uint32_t line = subject_.frames_at({index, offset})[0].line;
    (flow.loop_at(offset) == GpuFlow::kNone ? outside : inside).insert(line);
  }
  for (uint32_t line = 84; line <= 92; ++line) EXPECT_EQ(inside.count(line), 1u) << line;
  EXPECT_EQ(inside.count(95), 0u);
  EXPECT_EQ(outside.count(95), 1u);
}

TEST_P(SourceLoopsOf, WithoutLinesTheyAreStillThere) {
  Bytes bytes = committed_cubin_bytes("subject_sm_" + std::to_string(GetParam()));
  const std::string name = ".debug_line";
  for (auto at = bytes.begin(); (at = std::search(at, bytes.end(), name.begin(), name.end())) != bytes.end();)
    *++at = 'x';
  auto cubin = Cubin::read(bytes);
  ASSERT_TRUE(cubin.ok());
  EXPECT_TRUE(cubin->lines().empty());
  const GpuFunctionIndex index = function_named(*cubin, "_Z8unrolledPfPKfi");
  const GpuFlow flow(*cubin, index);
  const GpuSourceLoops found = find_gpu_source_loops(*cubin, index, flow);
  ASSERT_EQ(found.loops.size(), 2u);
  for (const GpuSourceLoop& loop : found.loops) {
    EXPECT_TRUE(loop.frames.empty());
    EXPECT_EQ(loop.code.size(), 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, SourceLoopsOf, ::testing::Values(80, 90, 100));

}  // namespace
}  // namespace diogenes
