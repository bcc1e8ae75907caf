// Loops by samples, with sums worked by hand. Code is made up: an offset says in which function it lies, and at which line.
#include "analysis/profile/hot_loops.h"

#include <gtest/gtest.h>

#include <memory>

namespace diogenes {
namespace {

constexpr uint64_t kProgram = 0;  // the module

// 0x1LL, 0x101LL: relax, line LL. 0x2LL: square, line LL, inlined into relax at line 7. 0x3LL: main. 0x4LL: a library.
std::vector<ReportFrame> named(uint32_t, Frame frame) {
  const auto line = static_cast<int>(frame.offset() & 0xff);
  const auto made = [](const char* function, int at, FrameOwner owner = FrameOwner::application) {
    ReportFrame out;
    out.function = function;
    out.file = "solver.cc";
    out.module = "/bin/solver";
    out.line = at;
    out.owner = owner;
    return out;
  };
  switch (frame.offset() >> 8 & 0xf) {
    case 1:
      return {made("relax", line)};
    case 2:
      return {made("square", line), made("relax", 7)};
    case 3:
      return {made("main", line)};
    case 5:
      return {made("for_each", line, FrameOwner::library), made("main", 0x22)};
    default:
      return {made("exp", line, FrameOwner::library)};
  }
}

class HotLoops : public ::testing::Test {
 protected:
  void sample(std::vector<uint64_t> offsets, int times = 10) {
    for (int i = 0; i < times; ++i) {
      UnwoundSample& one = *unwound_.emplace_back(std::make_unique<UnwoundSample>());
      for (const uint64_t offset : offsets) one.frames.push_back(Frame::of(kProgram, offset));
      samples_.push_back({0, &one, 0.01});
    }
  }
  void loop(uint64_t begin, uint64_t end) {
    CodeLoop& one = *code_.emplace_back(std::make_unique<CodeLoop>());
    one.head = one.lowest = begin, one.highest = end;
    one.blocks = {{begin, end}};
  }
  std::vector<ReportIdle::Loop> find() {
    const auto innermost = [this](uint32_t, Frame frame) -> const CodeLoop* {
      const uint64_t offset = frame.offset();
      const CodeLoop* found = nullptr;
      for (const auto& one : code_)
        if (one->lowest <= offset && offset < one->highest &&
            (!found || one->highest - one->lowest < found->highest - found->lowest))
          found = one.get();
      return found;
    };
    const auto calls_driver = [this](const std::string&, uint64_t begin, uint64_t end) {
      return driver_call_ >= begin && driver_call_ < end;
    };
    return find_hot_loops({samples_, idle_s_, named, innermost, calls_driver});
  }

  double idle_s_ = 1;
  uint64_t driver_call_ = 0;

 private:
  std::vector<std::unique_ptr<UnwoundSample>> unwound_;
  std::vector<std::unique_ptr<CodeLoop>> code_;
  std::vector<IdleSample> samples_;
};

TEST_F(HotLoops, ItsSamplesItsLinesAndWhoCallsIt) {
  loop(0x105, 0x10a);
  sample({0x106, 0x320}, 10);
  sample({0x109, 0x321}, 20);
  sample({0x120, 0x321}, 20);  // behind it
  const auto loops = find();
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].function, "relax");
  EXPECT_EQ(loops[0].file, "solver.cc");
  EXPECT_EQ(loops[0].module, "/bin/solver");
  EXPECT_EQ(loops[0].first_line, 5);
  EXPECT_EQ(loops[0].last_line, 9);
  EXPECT_NEAR(loops[0].seconds, 0.3, 1e-9);
  EXPECT_EQ(loops[0].samples, 30u);
  EXPECT_EQ(loops[0].caller, "main");
  EXPECT_EQ(loops[0].caller_line, 0x21);
}

TEST_F(HotLoops, WhatALoopCallsInALibraryBelongsToIt) {
  loop(0x105, 0x10a);
  loop(0x400, 0x410);  // the library's own
  sample({0x405, 0x107, 0x320});
  const auto loops = find();
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].function, "relax");
  EXPECT_NEAR(loops[0].seconds, 0.1, 1e-9);
}

TEST_F(HotLoops, ALoopThatCallsTheDriverIsNone) {
  loop(0x105, 0x110);
  loop(0x107, 0x10a);  // inside it
  sample({0x10c}, 10);
  sample({0x108}, 10);
  driver_call_ = 0x10e;
  const auto loops = find();
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].first_line, 7);
  driver_call_ = 0x108;
  EXPECT_TRUE(find().empty());
}

TEST_F(HotLoops, OneThatWasInlinedIsOfTheInnerFunction) {
  loop(0x203, 0x206);
  sample({0x204, 0x320});
  auto loops = find();
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].function, "square");
  EXPECT_EQ(loops[0].first_line, 3);
  EXPECT_EQ(loops[0].last_line, 5);
  EXPECT_EQ(loops[0].caller, "relax");
  EXPECT_EQ(loops[0].caller_line, 7);
}

// 0x5LL: a library's for_each, inlined into main at line 0x22.
TEST_F(HotLoops, ItsCallerIsTheApplicationsAlthoughALibraryWasInlinedThere) {
  loop(0x105, 0x10a);
  sample({0x106, 0x530});
  const auto loops = find();
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].caller, "main");
  EXPECT_EQ(loops[0].caller_line, 0x22);
}

TEST_F(HotLoops, OneThatHasInlinedCodeAmongItsOwnIsOfTheOuterFunction) {
  loop(0x1f9, 0x203);  // from line 0xf9 of relax into square, which relax calls at line 7
  sample({0x1fa});
  const auto loops = find();
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].function, "relax");
  EXPECT_EQ(loops[0].first_line, 7);
  EXPECT_EQ(loops[0].last_line, 0xf9);
}

// The compiler made two of it: the second one does what remains.
TEST_F(HotLoops, OneOfTheSourceIsOne) {
  loop(0x105, 0x109);
  loop(0x106, 0x107);  // nested: another one of the source
  sample({0x105}, 10);
  sample({0x106}, 20);
  EXPECT_EQ(find().size(), 2u);
  EXPECT_EQ(find()[0].first_line, 6);
  loop(0x1105, 0x1109);  // the lines of the first
  sample({0x1106}, 5);
  const auto loops = find();
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].first_line, 6);
  EXPECT_EQ(loops[1].first_line, 5);
  EXPECT_NEAR(loops[1].seconds, 0.15, 1e-9);
  EXPECT_EQ(loops[1].samples, 15u);
}

TEST_F(HotLoops, FewSamplesOrLittleTimeAreNone) {
  loop(0x105, 0x109);
  sample({0x106}, 2);
  EXPECT_TRUE(find().empty());
  sample({0x106}, 8);
  EXPECT_EQ(find().size(), 1u);
  idle_s_ = 5.1;  // 0.1 s are less than 2% of it
  EXPECT_TRUE(find().empty());
}

TEST_F(HotLoops, CodeOfLibrariesAndPythonIsNone) {
  loop(0x400, 0x410);
  sample({0x405});
  EXPECT_TRUE(find().empty());
}

}  // namespace
}  // namespace diogenes
