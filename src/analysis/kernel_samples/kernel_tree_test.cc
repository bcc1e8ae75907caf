// Trees inside the kernels of testdata/subject.cu, worked by hand from its lines, and that no sample is ever lost.
#include "analysis/kernel_samples/kernel_tree.h"

#include <algorithm>
#include <random>
#include <set>

#include "analysis/kernel_samples/testing/samples_of.h"
#include "driver/testing/cubin_builder.h"

namespace diogenes {
namespace {

using namespace testing;
using Kind = ReportKernelNode::Kind;

enum Reason : uint32_t { selected, not_selected, long_scoreboard, wait };

KernelTree tree_of(SamplesOf& samples, const std::string& kernel) {
  const SampledCode code = sort_samples(std::span(&samples.made(), 1));
  const auto found = code.kernels.find(kernel);
  EXPECT_NE(found, code.kernels.end()) << kernel;
  return found == code.kernels.end() ? KernelTree{} : make_kernel_tree(kernel, found->second, code.issued);
}

std::string text_of(const KernelTree::Node& node) {
  const std::string line = std::to_string(node.line);
  switch (node.kind) {
    case Kind::loop:
      return "loop " + line + "-" + std::to_string(node.last_line);
    case Kind::line:
      return line;
    case Kind::rest:
      return "rest";
    default:
      return node.function + (node.called_line > 0 ? "@" + std::to_string(node.called_line) : "");
  }
}

// "scaled<2> > loop 18-19 > 19: 30", of nodes with own samples, sorted.
std::vector<std::string> paths(const KernelTree& tree) {
  std::vector<std::string> found;
  for (uint32_t i = 0; i < tree.nodes.size(); ++i) {
    if (tree.nodes[i].own.all() == 0) continue;
    std::string path = text_of(tree.nodes[i]);
    for (uint32_t at = i; at != 0;) path = text_of(tree.nodes[at = tree.nodes[at].parent]) + " > " + path;
    found.push_back(path + ": " + std::to_string(std::lround(tree.nodes[i].own.all())));
  }
  std::sort(found.begin(), found.end());
  return found;
}
using Paths = std::vector<std::string>;

class KernelTreeOf : public ::testing::TestWithParam<int> {
 protected:
  std::string subject() const { return "subject_sm_" + std::to_string(GetParam()); }
};

TEST_P(KernelTreeOf, InlinedFunctionsLieInTheLoopAroundThem) {
  SamplesOf samples(subject());
  samples.line("_Z6scaledILi2EEvPfi", 5, long_scoreboard, 30).line("_Z6scaledILi2EEvPfi", 19, wait, 10);
  samples.line("_Z6scaledILi7EEvPfi", 19, wait, 7);
  EXPECT_EQ(paths(tree_of(samples, "_Z6scaledILi2EEvPfi")),
            (Paths{"scaled<2> > loop 18-19 > 19: 10",
                   "scaled<2> > loop 18-19 > first@19 > second@11 > third@8 > 5: 30"}));
  // The other instance is a kernel of its own.
  EXPECT_EQ(tree_of(samples, "_Z6scaledILi7EEvPfi").nodes[0].all.all(), 7);
}

TEST_P(KernelTreeOf, AnUnrolledLoopAndItsRemainderAreOne) {
  SamplesOf samples(subject());
  const auto offsets = samples.at_line("_Z8unrolledPfPKfi", 77);
  ASSERT_GT(offsets.size(), 4u);
  for (const uint64_t offset : offsets) samples.at("_Z8unrolledPfPKfi", offset, long_scoreboard, 1);
  const KernelTree tree = tree_of(samples, "_Z8unrolledPfPKfi");
  EXPECT_EQ(std::count_if(tree.nodes.begin(), tree.nodes.end(),
                          [](const auto& one) { return one.kind == Kind::loop; }),
            1);
  EXPECT_EQ(tree.nodes[0].all.all(), static_cast<double>(offsets.size()));
}

TEST_P(KernelTreeOf, InlinedInTwoPlacesALoopIsTwo) {
  SamplesOf samples(subject());
  for (const uint64_t offset : samples.at_line("_Z5twicePfi", 103))
    samples.at("_Z5twicePfi", offset, wait, 2);
  const KernelTree tree = tree_of(samples, "_Z5twicePfi");
  std::set<std::string> above;
  for (const KernelTree::Node& node : tree.nodes)
    if (node.kind == Kind::loop) above.insert(text_of(tree.nodes[node.parent]));
  EXPECT_EQ(above, (std::set<std::string>{"sum_of@107", "sum_of@108"}));
}

// direct calls middle once and leaf twice, all in one block: 100 each. middle's loop calls leaf: 300. So leaf's 1,000 samples
// belong to these by 1/5, 1/5 and 3/5.
TEST_P(KernelTreeOf, AFunctionIsSharedAmongItsCallersByHowOftenTheyCallIt) {
  SamplesOf samples(subject());
  samples.all_of("_Z6directPfi", selected, 100).all_of("_Z6middlefi", selected, 300);
  samples.at(samples.symbol_of("_Z4leaffi"), 0, wait, 1000);
  const KernelTree tree = tree_of(samples, "_Z6directPfi");
  std::map<std::string, double> leaf;  // by what it is called in, and its line
  double all = 0;
  for (const KernelTree::Node& node : tree.nodes) {
    if (node.kind != Kind::function || node.function != "leaf") continue;
    EXPECT_TRUE(node.estimated);
    leaf[text_of(tree.nodes[node.parent]) + " " + std::to_string(node.called_line)] += node.all.all();
    all += node.all.all();
  }
  EXPECT_NEAR(all, 1000, 1e-6);
  ASSERT_EQ(leaf.size(), 3u);
  EXPECT_NEAR(leaf["direct 40"], 200, 1e-6);
  EXPECT_NEAR(leaf["direct 41"], 200, 1e-6);
  EXPECT_NEAR(leaf["loop 33-34 34"], 600, 1e-6);
  // middle has one caller: nothing about it is an estimate.
  const auto middle = std::find_if(tree.nodes.begin(), tree.nodes.end(),
                                   [](const auto& one) { return one.function == "middle"; });
  ASSERT_NE(middle, tree.nodes.end());
  EXPECT_FALSE(middle->estimated);
  EXPECT_EQ(middle->called_line, 39u);
  EXPECT_TRUE(tree.notes.empty());
}

TEST_P(KernelTreeOf, WithFewIssuedSamplesItLiesBelowTheKernelAndThatIsSaid) {
  SamplesOf samples(subject());
  samples.all_of("_Z6directPfi", wait, 100).all_of("_Z6middlefi", wait, 300);
  samples.at(samples.symbol_of("_Z4leaffi"), 0, wait, 1000);
  const KernelTree tree = tree_of(samples, "_Z6directPfi");
  for (const KernelTree::Node& node : tree.nodes)
    if (node.function == "leaf" && node.kind == Kind::function) {
      EXPECT_EQ(node.parent, 0u);
      EXPECT_EQ(node.all.all(), 1000);
    }
  ASSERT_EQ(tree.notes.size(), 1u);
  EXPECT_EQ(tree.notes[0].substr(0, 15), "too few samples");
}

TEST_P(KernelTreeOf, AFunctionThatCallsItselfIsBelowItsCallerOnce) {
  SamplesOf samples(subject());
  samples.all_of("_Z5depthi", selected, 10);
  const KernelTree tree = tree_of(samples, "_Z9recursivePi");
  const auto is_depth = [](const KernelTree::Node& one) {
    return one.kind == Kind::function && one.function == "depth";
  };
  ASSERT_EQ(std::count_if(tree.nodes.begin(), tree.nodes.end(), is_depth), 1);
  const auto depth = std::find_if(tree.nodes.begin(), tree.nodes.end(), is_depth);
  EXPECT_EQ(depth->called_line, 48u);
  EXPECT_EQ(depth->all.all(), tree.nodes[0].all.all());
}

TEST_P(KernelTreeOf, OffsetsBehindTheKernelsOwnCodeAreItsFunctions) {
  SamplesOf samples(subject());
  const Cubin& cubin = samples.cubin();
  const GpuFunction& kernel = cubin.function(function_named(cubin, "_Z6directPfi"));
  const GpuFunction& leaf = cubin.function(function_named(cubin, "_Z4leaffi"));
  samples.at("_Z6directPfi", leaf.begin - kernel.begin, wait, 5);
  samples.at(std::string(leaf.symbol), 0, wait, 5);
  const KernelTree tree = tree_of(samples, "_Z6directPfi");
  for (const KernelTree::Node& node : tree.nodes)
    if (node.function == "leaf" && node.kind == Kind::function) {
      EXPECT_EQ(node.all.all(), 10);
    }
}

TEST_P(KernelTreeOf, OnlyTheLargestAreKeptAndTheRestIsSummed) {
  SamplesOf samples(subject());
  uint64_t next = 1;
  const std::string kernel = "_Z5casesPfii";
  for (uint32_t line = 84; line <= 92; ++line) samples.line(kernel, line, wait, next *= 2);
  KernelTree tree = tree_of(samples, kernel);
  const double all = tree.nodes[0].all.all();
  EXPECT_EQ(all, 1022);
  keep_largest(tree, 8);
  EXPECT_LE(tree.nodes.size(), 8u);
  double own = 0;
  for (const KernelTree::Node& node : tree.nodes) own += node.own.all();
  EXPECT_EQ(own, all);
  EXPECT_TRUE(std::any_of(tree.nodes.begin(), tree.nodes.end(),
                          [](const auto& one) { return one.kind == Kind::rest; }));
}

INSTANTIATE_TEST_SUITE_P(Architectures, KernelTreeOf, ::testing::Values(80, 90, 100));

// Shares of a kernel sum to 1: own samples of all nodes are those of the kernel, and no sample belongs to two kernels.
TEST(KernelTree, NoSampleIsLost) {
  std::mt19937 random(47);
  for (int round = 0; round < 60; ++round) {
    SamplesOf samples(std::string(round % 2 ? "subject" : "linked") + "_sm_" +
                      (round % 3 == 0   ? "80"
                       : round % 3 == 1 ? "90"
                                        : "100"));
    const Cubin& cubin = samples.cubin();
    double given = 0;
    const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
    for (uint32_t i = 0, count = 1 + below(3000); i < count; ++i) {
      const GpuFunction& one = cubin.functions()[below(static_cast<uint32_t>(cubin.functions().size()))];
      const uint32_t samples_there = 1 + below(round % 5 == 0 ? 3 : 1000);
      // Some lie behind the function, some between two instructions, some in functions that are not there.
      const uint64_t offset = below(20) == 0 ? below(1 << 20) : below(one.end - one.begin + 64) / 16 * 16;
      samples.at(below(50) == 0 ? "_Z7unknownv" : std::string(one.symbol), offset, below(4), samples_there,
                 below(2) * samples_there);
      given += samples_there;
    }
    const SampledCode code = sort_samples(std::span(&samples.made(), 1));
    double found = code.of_no_kernel.all();
    for (const auto& [name, sampled] : code.kernels) {
      KernelTree tree = make_kernel_tree(name, sampled, code.issued);
      double own = 0;
      for (size_t i = 0; i < tree.nodes.size(); ++i) {
        const KernelTree::Node& node = tree.nodes[i];
        own += node.own.all();
        ASSERT_LT(node.parent, std::max<size_t>(i, 1));
        ASSERT_GE(node.own.all(), 0);
      }
      const double all = tree.nodes[0].all.all();
      EXPECT_NEAR(own, all, 1e-6 * all) << name;
      double of_kernel = sampled.without_code.all();
      for (const SampledKernel::Part& part : sampled.parts)
        for (const InstructionSample& one : part.samples) of_kernel += one.samples;
      EXPECT_NEAR(all, of_kernel, 1e-6 * all) << name;
      keep_largest(tree, 20);
      double kept = 0;
      for (const KernelTree::Node& node : tree.nodes) kept += node.own.all();
      EXPECT_NEAR(kept, all, 1e-6 * all) << name;
      found += all;
    }
    EXPECT_NEAR(found, given, 1e-6 * given);
  }
}

// 40 functions, each of which calls the next one twice: 2^40 ways to the last. Of all samples nothing is lost.
TEST(KernelTree, MoreWaysThanCanBeShown) {
  constexpr uint32_t kFunctions = 40, kEach = 4 * 16;
  std::vector<Instruction> code;
  for (uint32_t i = 0; i < kFunctions; ++i) {
    const bool last = i + 1 == kFunctions;
    code.push_back({kNop});
    code.push_back(last ? Instruction{kNop}
                        : Instruction{kCall, 32});  // from the second to the next function's first
    code.push_back(last ? Instruction{kNop} : Instruction{kCall, 16});
    code.push_back({i == 0 ? kExit : kReturn});
  }
  CubinBuilder builder(90);
  const uint32_t section = builder.code("k", code_of(90, code));
  builder.kernel("k", section, kFunctions * kEach);
  for (uint32_t i = 1; i < kFunctions; ++i)
    builder.symbol("$k$f" + std::to_string(i), STT_FUNC, section, i * kEach, kEach);
  auto cubin = Cubin::read(builder.build());
  ASSERT_TRUE(cubin.ok() && cubin->has_control_flow()) << cubin->doubt().c_str();
  ASSERT_EQ(cubin->functions().size(), kFunctions);
  SampledKernel sampled;
  SampledKernel::Part& part = sampled.parts.emplace_back(SampledKernel::Part{&*cubin, {0}, {}});
  for (uint32_t i = 0; i < kFunctions; ++i)
    for (uint32_t k = 0; k < 4; ++k) part.samples.push_back({{i}, i * kEach + k * 16, 0, 1000, 0});
  const KernelTree tree = make_kernel_tree("k", sampled, 0);
  double own = 0;
  for (const KernelTree::Node& node : tree.nodes) own += node.own.all();
  EXPECT_NEAR(own, 4000 * kFunctions, 1e-3);
  EXPECT_NEAR(tree.nodes[0].all.all(), 4000 * kFunctions, 1e-3);
  ASSERT_EQ(tree.notes.size(), 1u);
  EXPECT_NE(tree.notes[0].find("in more ways than are shown"), std::string::npos);
}

}  // namespace
}  // namespace diogenes
