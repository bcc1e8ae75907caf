// Loops that a compiler made of known source (testdata/loops_subject.cc), those of libc, and files that are damaged.
#include "analysis/samples/code_loops.h"

#include <gtest/gtest.h>
#include <link.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "trace/testing/temporary_folder.h"

namespace diogenes {
namespace {

std::multimap<int, uint64_t> marks_of(const std::string& program) {
  std::multimap<int, uint64_t> marks;
  FILE* output = popen(program.c_str(), "r");
  int number = 0;
  unsigned long long address = 0;
  while (output && fscanf(output, "%d %llu", &number, &address) == 2) marks.insert({number, address});
  if (output) pclose(output);
  return marks;
}

// The loops of the function that holds the address, by head. The innermost loop around a head is its own.
std::set<const CodeLoop*> loops_around(CodeLoops& loops, const std::string& file, uint64_t address) {
  auto image = Image::open(file);
  const auto* function = image->containing_function(address - image->image_base());
  std::set<const CodeLoop*> found;
  for (uint64_t i = 0; function && i < function->size; ++i)
    if (const CodeLoop* loop = loops.innermost(image->image_base() + function->offset + i))
      found.insert(loop);
  return found;
}

class CodeLoopsOf : public ::testing::TestWithParam<const char*> {
 protected:
  uint32_t depth(int mark) {
    EXPECT_EQ(marks_.count(mark) > 0, true) << mark;
    uint32_t most = 0;
    for (auto [at, end] = marks_.equal_range(mark); at != end; ++at)
      if (const CodeLoop* loop = loops_.innermost(at->second)) most = std::max(most, loop->depth);
    return most;
  }
  uint64_t address(int mark) { return marks_.find(mark)->second; }
  const CodeLoop* loop(int mark) {  // of the copy that is deepest
    const CodeLoop* deepest = nullptr;
    for (auto [at, end] = marks_.equal_range(mark); at != end; ++at)
      if (const CodeLoop* one = loops_.innermost(at->second);
          one && (!deepest || one->depth > deepest->depth))
        deepest = one;
    return deepest;
  }
  bool any_in(const CodeLoop& loop, int mark) {
    for (auto [at, end] = marks_.equal_range(mark); at != end; ++at)
      if (loop.contains(at->second)) return true;
    return false;
  }

  std::multimap<int, uint64_t> marks_ = marks_of(GetParam());
  CodeLoops loops_{GetParam()};
};

TEST_P(CodeLoopsOf, EveryMarkIsInAsManyLoopsAsInTheSource) {
  const std::map<int, uint32_t> expected = {
      {1, 1},  {2, 1},  {3, 2},  {4, 1},  {5, 1},  {6, 1},  {7, 0},  {8, 1},  {9, 1},  {10, 1}, {11, 0},
      {12, 1}, {13, 0}, {14, 0}, {15, 0}, {20, 1}, {21, 1}, {22, 1}, {23, 1}, {24, 2}, {25, 1}, {26, 1},
      {27, 0}, {28, 1}, {30, 0}, {31, 0}, {32, 0}, {33, 1}, {40, 1}, {41, 0}, {42, 0}, {43, 0}, {44, 1}};
  for (const auto& [mark, loops] : expected) EXPECT_EQ(depth(mark), loops) << "mark " << mark;
}

TEST_P(CodeLoopsOf, AnInnerLoopIsPartOfTheOuterOne) {
  const CodeLoop *outer = loop(2), *inner = loop(3);
  ASSERT_TRUE(outer && inner);
  EXPECT_TRUE(any_in(*outer, 3));
  EXPECT_FALSE(any_in(*inner, 2));
  EXPECT_LE(outer->lowest, inner->lowest);
  EXPECT_GE(outer->highest, inner->highest);
}

TEST_P(CodeLoopsOf, LoopsOneAfterTheOtherShareNothing) {
  const CodeLoop *first = loop(4), *second = loop(5);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->head, second->head);
  EXPECT_FALSE(any_in(*first, 5));
  EXPECT_FALSE(any_in(*second, 4));
}

TEST_P(CodeLoopsOf, ExitsAreNotPartOfTheLoop) {
  ASSERT_TRUE(loop(6));
  EXPECT_TRUE(any_in(*loop(6), 8));
  EXPECT_FALSE(any_in(*loop(6), 7));
}

TEST_P(CodeLoopsOf, CasesOfASwitchAreInTheLoopAroundIt) {
  const CodeLoop* around = loop(20);
  ASSERT_TRUE(around);
  for (const int mark : {21, 22, 23, 24, 25, 26, 28}) EXPECT_TRUE(any_in(*around, mark)) << mark;
}

TEST_P(CodeLoopsOf, AVectorLoopAndItsRemainderAreNotNested) {
  const auto found = loops_around(loops_, GetParam(), address(31));
  EXPECT_GE(found.size(), 1u);
  for (const CodeLoop* one : found) EXPECT_EQ(one->depth, 1u);
}

TEST_P(CodeLoopsOf, AskedAgainItIsTheSameLoop) {
  const CodeLoop* first = loop(1);
  ASSERT_TRUE(first);
  for (const auto& [mark, at] : marks_) loops_.innermost(at);
  EXPECT_EQ(loop(1), first);
  EXPECT_EQ(loops_.innermost(first->head), first);
}

TEST_P(CodeLoopsOf, WhereThereIsNoFunctionThereIsNoLoop) {
  for (const uint64_t at : {uint64_t{0}, uint64_t{1} << 47, UINT64_MAX, UINT64_MAX / 2})
    EXPECT_EQ(loops_.innermost(at), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Options, CodeLoopsOf,
                         ::testing::Values(DIOGENES_LOOPS "_O0", DIOGENES_LOOPS "_O2",
                                           DIOGENES_LOOPS "_fixed"));

void expect_sound(const CodeLoop& loop, uint64_t address) {
  EXPECT_TRUE(loop.contains(address));
  EXPECT_TRUE(loop.contains(loop.head));
  EXPECT_GE(loop.depth, 1u);
  ASSERT_FALSE(loop.blocks.empty());
  EXPECT_EQ(loop.lowest, loop.blocks.front().begin);
  EXPECT_EQ(loop.highest, loop.blocks.back().end);
  for (size_t i = 0; i < loop.blocks.size(); ++i) {
    EXPECT_FALSE(loop.blocks[i].empty());
    if (i > 0) {
      EXPECT_LT(loop.blocks[i - 1].end, loop.blocks[i].begin);
    }
  }
}

TEST(CodeLoops, LoopsOfLibcAreNestedOrApart) {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* into) {
        if (std::string_view(info->dlpi_name).find("/libc.so") == std::string_view::npos) return 0;
        *static_cast<std::string*>(into) = info->dlpi_name;
        return 1;
      },
      &path);
  auto image = Image::open(path);
  ASSERT_TRUE(image.ok());
  CodeLoops loops(path);
  std::set<const CodeLoop*> all;
  for (const Image::Function& function : image->functions()) {
    std::set<const CodeLoop*> found;
    for (uint64_t i = 0; i < function.size; ++i) {
      const uint64_t at = image->image_base() + function.offset + i;
      if (const CodeLoop* loop = loops.innermost(at); loop && found.insert(loop).second)
        expect_sound(*loop, at);
    }
    for (const CodeLoop* one : found) {
      uint32_t around = 0;
      for (const CodeLoop* other : found) around += other->contains(one->head) ? 1 : 0;
      EXPECT_EQ(one->depth, around);
    }
    all.insert(found.begin(), found.end());
  }
  EXPECT_GT(all.size(), 1000u);
}

TEST(CodeLoops, DamagedFilesHaveNoLoopsOrSomeButDoNoHarm) {
  const std::string subject = DIOGENES_LOOPS "_O2";
  const auto marks = marks_of(subject);
  std::ifstream file(subject, std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  ASSERT_GT(good.size(), 1000u);
  const testing::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "damaged";
  const auto ask = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    CodeLoops loops(path);
    size_t found = 0;
    for (const auto& [mark, at] : marks)
      if (const CodeLoop* loop = loops.innermost(at)) {
        expect_sound(*loop, at);
        ++found;
      }
    return found;
  };
  EXPECT_GT(ask(good), 10u);
  EXPECT_EQ(ask(""), 0u);
  EXPECT_EQ(ask("#!/bin/sh\nexit 0\n"), 0u);
  for (size_t cut = 0; cut < 40; ++cut) EXPECT_EQ(ask(good.substr(0, good.size() * cut / 41)), 0u) << cut;
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string bad = good;
    for (int i = 0; i < 2000; ++i) bad[64 + random() % (bad.size() - 64)] = static_cast<char>(random());
    ask(bad);
  }
  std::string other = good;
  other[18] = '\xb7';  // aarch64
  EXPECT_EQ(ask(other), 0u);
  std::filesystem::remove(path);
  for (const auto& gone : {path, folder.path()}) EXPECT_EQ(CodeLoops(gone).innermost(0x1000), nullptr);
}

}  // namespace
}  // namespace diogenes
