#include "analysis/findings/groupings.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "analysis/testing/analysed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

struct Grouped {
  explicit Grouped(const Timeline& trace, ProcessOptions options = {}) : analysed(trace, std::move(options)) {
    groups = find_groups({analysed.tracing, analysed.sites, analysed.graph, analysed.problems.found}, names);
  }
  GroupingInput input() const {
    return {analysed.tracing, analysed.sites, analysed.graph, analysed.problems.found};
  }
  std::vector<const Group*> of(Group::Grouping grouping) const {
    std::vector<const Group*> found;
    for (const Group& group : groups)
      if (group.grouping == grouping) found.push_back(&group);
    return found;
  }
  // Driver functions of the members, in the group's order.
  std::vector<std::string> operations(const Group& group) const {
    std::vector<std::string> found;
    for (uint32_t member : group.members)
      found.push_back(operation_name(analysed.sites[analysed.problems.found[member].site]));
    return found;
  }
  Analysed analysed;
  StackNames names;
  std::vector<Group> groups;
};

TEST(Groupings, SinglePointIsOneStack) {
  // One place with needless and movable waits, another place.
  auto trace = timeline();
  for (int i = 0; i < 2; ++i) trace.launch(1).sync(lasting(20)).from(0x100).unnecessary().work(30);
  for (int i = 0; i < 2; ++i) trace.launch(1).sync(lasting(20)).from(0x100).first_use(after(10)).work(30);
  trace.launch(1).sync(lasting(20)).from(0x200).unnecessary().work(7);
  Grouped grouped(trace);
  ASSERT_EQ(grouped.analysed.problems.found.size(), 3u);
  auto points = grouped.of(Group::Grouping::single_point);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0]->members.size(), 2u);
  EXPECT_DOUBLE_EQ(us(points[0]->benefit), 2 * 20 + 2 * 10);
  EXPECT_EQ(points[0]->synchronization_issues, 2u);
  EXPECT_DOUBLE_EQ(us(points[1]->benefit), 7);
}

TEST(Groupings, FoldIsEstimatedTogether) {
  // Two frees: A waits 100 with 2 behind it, B waits nothing with 100 behind it. Alone 2 and 0, folded 100.
  auto trace = timeline().launch().release(0x1000, lasting(100)).unnecessary().work(2);
  trace.release(0x2000, lasting(0)).unnecessary().work(100).launch().sync(lasting(10)).first_use(after(0));
  Grouped grouped(trace);
  auto folds = grouped.of(Group::Grouping::folded_function);
  ASSERT_EQ(folds.size(), 1u);
  EXPECT_EQ(folds[0]->title, "Fold on cuMemFree");
  EXPECT_EQ(folds[0]->members.size(), 2u);
  EXPECT_DOUBLE_EQ(us(folds[0]->benefit), 100);
}

TEST(Groupings, SequenceEndsAtANeededSynchronization) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i) {
    trace.launch(1).copy("cuMemcpyHtoD_v2", 64, lasting(10), 2).from(0x100).work(5);
    if (i == 0)
      trace.needed(kOrder);
    else
      trace.repeats(0).unnecessary();
    trace.release(0x1000, lasting(10), 2).from(0x200).unnecessary().work(5);
    trace.sync(lasting(10)).from(0x300).first_use(after(0)).work(5);
    trace.sync(lasting(10)).from(0x400).unnecessary().work(5);
    trace.sync(lasting(10)).from(0x500).first_use(after(0)).work(5);
  }
  Grouped grouped(trace);
  ASSERT_EQ(grouped.analysed.problems.found.size(), 3u);
  auto sequences = grouped.of(Group::Grouping::sequence);
  ASSERT_EQ(sequences.size(), 1u);  // 0x400 stands alone between two that are needed
  EXPECT_EQ(grouped.operations(*sequences[0]), (std::vector<std::string>{"cuMemcpyHtoD", "cuMemFree"}));
  EXPECT_EQ(sequences[0]->synchronization_issues, 2u);  // the copy's wait, the free's
  EXPECT_EQ(sequences[0]->transfer_issues, 1u);
}

TEST(Groupings, SequenceIsALoopsBodyNotItsOccurrences) {
  // No needed wait in the loop: 50 rounds are one sequence of two problems, and the shorter first round is
  // part of it.
  auto trace = timeline().launch(1).sync(lasting(4)).from(0x100).unnecessary().work(1);
  trace.sync(lasting(1)).from(0x900).needed(kOrder);
  for (int i = 0; i < 50; ++i) {
    trace.launch(1).sync(lasting(10)).from(0x100).unnecessary().work(5);
    trace.launch(1).sync(lasting(10)).from(0x200).unnecessary().work(5);
  }
  Grouped grouped(trace);
  auto sequences = grouped.of(Group::Grouping::sequence);
  ASSERT_EQ(sequences.size(), 1u);
  EXPECT_EQ(sequences[0]->members.size(), 2u);
  // First round: min(4, 1). Then 99 gaps of 5 + 1, of waits that are longer, and 5 before the exit.
  EXPECT_DOUBLE_EQ(us(sequences[0]->benefit), 1 + 99 * 6 + 5);
}

TEST(Groupings, TheBestPartOfASequenceIsChosen) {
  Grouped grouped(four_in_a_row(3));
  auto sequences = grouped.of(Group::Grouping::sequence);
  ASSERT_EQ(sequences.size(), 1u);
  EXPECT_DOUBLE_EQ(us(sequences[0]->benefit), 3 * 104);
  auto parts = grouped.of(Group::Grouping::subsequence);
  ASSERT_EQ(parts.size(), 1u);  // two places gain 100 of 104: a third is not worth it
  EXPECT_DOUBLE_EQ(us(parts[0]->benefit), 3 * 100);
  EXPECT_EQ(parts[0]->members,
            (std::vector<uint32_t>(sequences[0]->members.begin(), sequences[0]->members.begin() + 2)));
  EXPECT_TRUE(parts[0]->title.starts_with("Part 1 to 2 of 4, from cuCtxSynchronize")) << parts[0]->title;
}

TEST(Groupings, AnyPartCanBeAskedFor) {
  Grouped grouped(four_in_a_row(3));
  const Group sequence = *grouped.of(Group::Grouping::sequence)[0];
  Group part = subsequence(grouped.input(), grouped.names, sequence, 3, 4);
  EXPECT_DOUBLE_EQ(us(part.benefit), 3 * 4);
  EXPECT_EQ(part.members.size(), 2u);
  EXPECT_DOUBLE_EQ(us(subsequence(grouped.input(), grouped.names, sequence, 1, 1).benefit), 3 * 2);
}

}  // namespace

// A template with two instances in this very program: their stacks have the same base names.
template <typename T>
[[gnu::noinline]] T* temporary_vector(T* memory) {
  asm volatile("" : "+r"(memory)::"memory");
  return memory;
}

namespace {

TEST(Groupings, TemplateInstancesFold) {
  auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  auto offset = [](auto* function) {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(function), &info);
    return reinterpret_cast<uint64_t>(function) - reinterpret_cast<uint64_t>(info.dli_fbase) + 1;
  };
  auto trace = timeline();
  for (uint64_t place : {offset(&temporary_vector<int>), offset(&temporary_vector<double>)})
    trace.launch(1).release(0x1000, lasting(10)).unnecessary().from_stack({program_frame(place)}).work(5);
  trace.launch(1).release(0x1000, lasting(10)).unnecessary().from_stack({program_frame(0)}).work(5);
  Grouped grouped(trace, {.program = self});
  auto folds = grouped.of(Group::Grouping::folded_function);
  ASSERT_EQ(folds.size(), 2u);
  EXPECT_EQ(folds[0]->title, "Fold on cuMemFree");
  EXPECT_EQ(folds[0]->members.size(), 3u);
  EXPECT_EQ(folds[1]->title, "Fold on cuMemFree in diogenes::temporary_vector");
  EXPECT_EQ(folds[1]->members.size(), 2u);
}

}  // namespace
}  // namespace diogenes
