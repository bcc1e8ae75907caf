#include "analysis/findings/library_parts.h"

#include <gtest/gtest.h>

#include "analysis/testing/replayed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

// The calls of a layer: outside of the part an allocation, in it a kernel of 2, 5 of the CPU's time, a result of 4 bytes that takes
// 1 + 5, 7 of the CPU's time, and a kernel; then 4, and a call outside.
struct Layers {
  int count = 12;
  int kernels = 1;     // before the result
  uint64_t same = 12;  // results with the same bytes
  PartOfCall part = PartOfCall::left_out;
};

RequiredWaits required_of_parts(const Layers& layers) {
  auto trace = timeline();
  const auto outside = [&] { trace.call("cuMemAlloc_v2", lasting(0), 1).without_wait().work(3); };
  const auto result = [&] {
    trace.work(5).copy("cuMemcpyDtoH_v2", 4, lasting(1), 5).from(0x100).first_use(after(1)).work(7);
  };
  for (int layer = 0; layer < layers.count; ++layer) {
    outside();
    for (int kernel = 0; kernel < layers.kernels; ++kernel) trace.launch(2);
    result();
    trace.launch(2).work(4);
  }
  outside();
  trace.work(100).launch(1);  // until then the GPU is done
  const Replayed replayed(trace);
  const SiteTable& sites = replayed.analysed.sites;
  const std::vector<BroughtValues> brought(sites.size(), {12, layers.same});
  Lines lines;
  lines.is_python = [](SiteIndex) { return true; };
  lines.another_form = [&](SiteIndex) {
    PythonAdvice advice{"check nothing", true};
    advice.part = layers.part;
    return advice;
  };
  lines.in_part_of = [&](SiteIndex call, SiteIndex) {
    return function_of(sites[call])->role != Role::allocate;
  };
  lines.brought = &brought;
  return replayed.required(lines);
}

// Of each part 2 + 5 + 6 + 7 + 2 go, and of the 3 before its first call all, as its calls take 10.
TEST(LibraryParts, GoAsAWholeWhereTheAdviceDoesWithoutThem) {
  const RequiredWaits found = required_of_parts({});
  ASSERT_EQ(found.found.size(), 1u);
  const Required& line = found.found[0];
  EXPECT_EQ(line.in_parts, 12u);
  EXPECT_DOUBLE_EQ(testing::us(line.waits_gain), 12 * 6);
  EXPECT_DOUBLE_EQ(testing::us(line.up_to.benefit), 12 * (3 + 22));
  EXPECT_DOUBLE_EQ(testing::us(found.together.benefit), 12 * (3 + 22));
  EXPECT_LE(testing::us(line.up_to.low), 12 * 6) << "the waits may be all that can go";
}

TEST(LibraryParts, AreDoneOnceOnlyWhereTheyFindTheSame) {
  const auto in_parts = [](uint64_t same) {
    return required_of_parts({.same = same, .part = PartOfCall::done_once}).found.at(0).in_parts;
  };
  EXPECT_EQ(in_parts(12), 12u);
  EXPECT_EQ(in_parts(11), 0u);
}

TEST(LibraryParts, AreNoneOfManyKernelsAndNoneThatNobodyAsksFor) {
  const auto in_parts = [](const Layers& layers) { return required_of_parts(layers).found.at(0).in_parts; };
  EXPECT_EQ(in_parts({.kernels = 23}), 12u);
  EXPECT_EQ(in_parts({.kernels = 24}), 0u);
  EXPECT_EQ(in_parts({.kernels = 200}), 0u) << "more calls than a part may have";
  EXPECT_EQ(in_parts({.part = PartOfCall::none}), 0u);
}

}  // namespace
}  // namespace diogenes
