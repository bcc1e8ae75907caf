// The tree of calling contexts, with times worked by hand. Times in microseconds.
#include "analysis/profile/contexts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;
using Kind = ReportContext::Kind;

// main (line 1 or 2) calls step, which calls helper or the driver. A frame's offset says which function and line:
// 0x1LL is main at line LL, 0x2LL step, 0x3LL a library's helper, 0x4LL the runtime, 0x5LL primes; 0x1000 more is Python.
ReportFrame frame_at(uint64_t offset) {
  static const char* const kNames[] = {"", "main", "step", "helper", "cudaLaunchKernel", "primes"};
  ReportFrame frame;
  if (offset >= 0x1000) frame.language = "python";
  offset %= 0x1000;
  frame.function = kNames[offset >> 8];
  frame.file = "app.cc";
  frame.line = static_cast<int>(offset & 0xff);
  if (offset >> 8 == 3) frame.owner = FrameOwner::library;
  if (offset >> 8 == 4) frame.owner = FrameOwner::runtime;
  return frame;
}

// Innermost first.
std::vector<Frame> stack(std::initializer_list<uint64_t> offsets) {
  std::vector<Frame> frames;
  for (const uint64_t offset : offsets) frames.push_back(program_frame(offset));
  return frames;
}

Run contexts_run(const std::filesystem::path& stage, SiteTable& sites, Load what) {
  auto run = load_run(stage, sites, what);
  return std::move(*run);
}

class ContextsTest : public ::testing::Test {
 protected:
  Contexts contexts_of(const std::vector<std::pair<Timeline, ProcessOptions>>& processes) {
    for (const auto& [trace, options] : processes) write_process(folder_.path() / "2", trace, options);
    run_ = contexts_run(folder_.path() / "2", sites_, Load::operations);
    return find_contexts({.tracing = run_,
                          .work = work_ ? &*work_ : nullptr,
                          .stack = [this](SiteIndex site) -> const std::vector<ReportFrame>& {
                            auto& frames = stacks_[site.value];
                            const StackPlace& place = sites_[site].place;
                            if (frames.empty())
                              for (const Frame frame : place.process->stacks.frames(place.stack))
                                frames.push_back(frame_at(frame.offset()));
                            return frames;
                          },
                          .called = [this](SiteIndex site) { return operation_name(sites_[site]); },
                          .work_name = [](uint32_t) { return "axpy"; },
                          .recoverable_s = {},
                          .samples = samples_,
                          .named = [this](uint32_t, Frame frame) -> const std::vector<ReportFrame>& {
                            auto& named = sampled_[frame.packed];
                            if (named.empty()) named.push_back(frame_at(frame.offset()));
                            return named;
                          },
                          .idle = idle_,
                          .loop = loop_});
  }
  Contexts contexts_of(const Timeline& trace) {
    return contexts_of({{trace, ProcessOptions{.launches_traced = true}}});
  }

  // "main/step": from the root.
  static const ReportContext& at(const Contexts& contexts, const std::vector<std::string>& path) {
    uint32_t node = 0;
    for (const std::string& name : path) {
      const auto& nodes = contexts.nodes;
      auto found = std::find_if(nodes.begin() + node + 1, nodes.end(), [&](const ReportContext& one) {
        return one.parent == node && one.name == name;
      });
      if (found == nodes.end()) {
        ADD_FAILURE() << name;
        return nodes[0];
      }
      node = static_cast<uint32_t>(found - nodes.begin());
    }
    return contexts.nodes[node];
  }
  static double us(double seconds) { return seconds * 1e6; }

  TemporaryFolder folder_;
  SiteTable sites_;
  diogenes::Run run_;
  std::map<uint32_t, std::vector<ReportFrame>> stacks_;
  std::map<uint64_t, std::vector<ReportFrame>> sampled_;  // by Frame::packed
  std::optional<GpuWorkFound> work_;
  std::vector<std::vector<UnwoundSample>> samples_;
  std::vector<GpuIdle> idle_;
  std::optional<MainLoop> loop_;
};

// 5, L in step (2), 7 in step, S in step (waits 20, own 1), 11 in main, S in main (3), 4 to the end.
Timeline three_calls() {
  auto trace = timeline().work(5).launch(2).from_stack(stack({0x205, 0x101}));
  trace.work(7).sync(lasting(20), 1).from_stack(stack({0x206, 0x101}));
  trace.work(11).sync(lasting(3)).from_stack(stack({0x102}));
  return trace.work(4);
}

// The GPU is idle from 8 to 47, when the last call's work begins: 6 in step, 1 and 20 in its wait, 11 in main, 1 launching.
TEST_F(ContextsTest, IdleTimeOfTheGpuIsThatOfWhatTheThreadDoesMeanwhile) {
  const int64_t start = ProcessOptions{}.start_ns;
  idle_ = {{.phase = {45'000}, .idle = {39'000}, .by_thread = {{{start + 8'000, start + 47'000, 2}}}}};
  loop_ = MainLoop{.iterations = 2, .calls = 1, .begin = {start + 40'000}, .end = {start + 50'000}};
  const Contexts contexts = contexts_of(three_calls());
  EXPECT_DOUBLE_EQ(us(at(contexts, {"main", "step"}).idle_s), 6);
  EXPECT_DOUBLE_EQ(us(at(contexts, {"main"}).idle_s), 11);
  EXPECT_DOUBLE_EQ(us(at(contexts, {"main", "step", "cuCtxSynchronize"}).idle_s), 21);
  EXPECT_DOUBLE_EQ(us(at(contexts, {"main", "cuCtxSynchronize"}).idle_s), 1);
  const ReportIdle& idle = contexts.idle;
  EXPECT_DOUBLE_EQ(us(idle.phase_s), 45);
  EXPECT_DOUBLE_EQ(us(idle.idle_s), 39);
  EXPECT_DOUBLE_EQ(us(idle.between_s), 17);
  EXPECT_DOUBLE_EQ(us(idle.calls_s), 1);
  EXPECT_DOUBLE_EQ(us(idle.waits_s), 20);
  EXPECT_DOUBLE_EQ(us(idle.launching_s), 1);
  EXPECT_DOUBLE_EQ(us(idle.loop_s), 10);
  EXPECT_DOUBLE_EQ(us(idle.loop_idle_s), 7);
  EXPECT_EQ(idle.loop_iterations, 2u);
  ASSERT_EQ(idle.gaps.size(), 2u);
  EXPECT_EQ(&contexts.nodes[idle.gaps[0].context], &at(contexts, {"main"}));
  EXPECT_EQ(idle.gaps[0].before, 1);
  EXPECT_EQ(idle.gaps[0].after, 2);
  EXPECT_DOUBLE_EQ(us(idle.gaps[0].seconds), 11);
  EXPECT_EQ(idle.gaps[1].before, 5);
  EXPECT_EQ(idle.gaps[1].after, 6);
  EXPECT_EQ(idle.gaps[1].count, 1u);
}

TEST_F(ContextsTest, TimeBetweenCallsIsThatOfTheInnermostFrameOfBoth) {
  const Contexts contexts = contexts_of(three_calls());
  EXPECT_DOUBLE_EQ(us(contexts.nodes[0].cpu_s), 9) << "before the first call, and behind the last one";
  EXPECT_DOUBLE_EQ(us(at(contexts, {"main", "step"}).cpu_s), 7);
  EXPECT_DOUBLE_EQ(us(at(contexts, {"main"}).cpu_s), 11);
  const ReportContext& wait = at(contexts, {"main", "step", "cuCtxSynchronize"});
  EXPECT_EQ(wait.kind, Kind::call);
  EXPECT_EQ(wait.called_line, 6);
  EXPECT_DOUBLE_EQ(us(wait.waited_s), 20);
  EXPECT_DOUBLE_EQ(us(wait.driver_s), 1);
  EXPECT_EQ(at(contexts, {"main", "step"}).called_line, 1);
  EXPECT_EQ(at(contexts, {"main", "cuCtxSynchronize"}).count, 1u);
}

TEST_F(ContextsTest, AllOfTheThreadsTimeIsInThem) {
  const Contexts contexts = contexts_of(three_calls());
  double sum = contexts.recording_s;
  for (const ReportContext& node : contexts.nodes) sum += node.cpu_s + node.driver_s + node.waited_s;
  EXPECT_DOUBLE_EQ(sum, contexts.threads_s);
}

// step is called at two lines of main: two contexts, and what lies between is main's.
TEST_F(ContextsTest, AFrameThatIsCalledElsewhereIsAnotherOne) {
  auto trace = timeline().sync(lasting(1)).from_stack(stack({0x205, 0x101}));
  trace.work(9).sync(lasting(1)).from_stack(stack({0x205, 0x102}));
  const Contexts contexts = contexts_of(trace);
  EXPECT_DOUBLE_EQ(us(at(contexts, {"main"}).cpu_s), 9);
  EXPECT_DOUBLE_EQ(us(at(contexts, {"main", "step"}).cpu_s), 0);
}

// It calls from its lines 6 and 5, below one caller and below another.
TEST_F(ContextsTest, AFunctionHasOneLineWhoeverCallsIt) {
  auto trace = timeline().sync(lasting(1)).from_stack(stack({0x206, 0x101}));
  trace.work(9).sync(lasting(1)).from_stack(stack({0x205, 0x102}));
  const Contexts contexts = contexts_of(trace);
  int frames = 0;
  for (const ReportContext& node : contexts.nodes)
    if (node.name == "step") {
      ++frames;
      EXPECT_EQ(node.line, 5);
    }
  EXPECT_EQ(frames, 2);
}

// The same call over and over, inside a library: the loop may be anywhere, and the time is that of the program's frame.
TEST_F(ContextsTest, BetweenCallsOfOneStackItIsTheProgramsInnermost) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i) trace.sync(lasting(1)).from_stack(stack({0x407, 0x306, 0x205, 0x101})).work(10);
  const Contexts contexts = contexts_of(trace);
  EXPECT_DOUBLE_EQ(us(at(contexts, {"main", "step"}).cpu_s), 20);
  EXPECT_EQ(at(contexts, {"main", "step", "helper", "cuCtxSynchronize"}).count, 3u)
      << "no frame of the runtime";
}

TEST_F(ContextsTest, GpuWorkHangsBelowTheCallThatGaveIt) {
  contexts_of(three_calls());
  work_.emplace();
  GpuWorkItem& item = work_->items.emplace_back();
  item.kind = GpuWork::kernel;
  item.time = {50'000};
  item.paths.push_back({run_.processes[0].threads[0].operations[0].site, 1, {50'000}, {{50'000}}});
  const Contexts contexts = contexts_of(three_calls());
  const ReportContext& kernel = at(contexts, {"main", "step", "cuLaunchKernel", "axpy"});
  EXPECT_EQ(kernel.kind, Kind::gpu);
  EXPECT_DOUBLE_EQ(us(kernel.gpu_s), 50);
  EXPECT_EQ(kernel.work, 0);
  EXPECT_DOUBLE_EQ(us(contexts.nodes[0].gpu_most_s), 50);
}

// Between the launch (until 7) and the wait (from 14) step has 7: for 4 of these it was in helper. What a sample saw during a
// call is the call's.
TEST_F(ContextsTest, SamplesShareOutTheTimeBetweenCalls) {
  constexpr int64_t kStart = 1'000'000;  // of the timeline
  samples_ = {{{{kStart + 9'000}, {4'000}, 100, stack({0x309, 0x205, 0x101})},
               {{kStart + 20'000}, {4'000}, 100, stack({0x309, 0x205, 0x101})}}};
  const Contexts contexts = contexts_of(three_calls());
  EXPECT_NEAR(us(at(contexts, {"main", "step", "helper"}).cpu_s), 4, 1e-6);
  EXPECT_NEAR(us(at(contexts, {"main", "step"}).cpu_s), 3, 1e-6);
  EXPECT_EQ(contexts.samples, 1u);
}

// Of the 17 between calls in which the GPU is idle (6 in step, 11 in main) the CPU was seen at work for 4, in step.
TEST_F(ContextsTest, WhoIsNotSampledHadNoCpu) {
  const int64_t start = ProcessOptions{}.start_ns;
  idle_ = {{.phase = {45'000}, .idle = {39'000}, .by_thread = {{{start + 8'000, start + 47'000, 2}}}}};
  EXPECT_FALSE(contexts_of(three_calls()).idle.asleep_s) << "nobody looked";
  samples_ = {{{{start + 9'000}, {4'000}, 100, stack({0x309, 0x205, 0x101})}}};
  const Contexts contexts = contexts_of(three_calls());
  ASSERT_TRUE(contexts.idle.asleep_s);
  EXPECT_NEAR(us(*contexts.idle.asleep_s), 13, 1e-6);
  ASSERT_EQ(contexts.idle.gaps.size(), 2u);
  EXPECT_NEAR(us(contexts.idle.gaps[0].asleep_s.value_or(-1)), 11, 1e-6);
  EXPECT_NEAR(us(contexts.idle.gaps[1].asleep_s.value_or(-1)), 2, 1e-6);
}

// Samples stand for more than there is: they share it.
TEST_F(ContextsTest, SamplesGiveNoMoreThanThereIs) {
  constexpr int64_t kStart = 1'000'000;
  samples_ = {{{{kStart + 9'000}, {10'000}, 100, stack({0x309, 0x205, 0x101})},
               {{kStart + 10'000}, {10'000}, 100, stack({0x205, 0x101})}}};
  const Contexts contexts = contexts_of(three_calls());
  EXPECT_NEAR(us(at(contexts, {"main", "step", "helper"}).cpu_s), 3.5, 1e-6);
  EXPECT_NEAR(us(at(contexts, {"main", "step"}).cpu_s), 3.5, 1e-6);
}

// One line of step makes both calls, so the 10 between them seem to be step's. Python's frames say otherwise: for 4 main was in
// primes, for 3 step was in a library's helper, and for 2 that was in a function of Python again.
TEST_F(ContextsTest, AFunctionOfPythonThatWasLeftHasNoTime) {
  constexpr int64_t kStart = 1'000'000;
  const auto calls = stack({0x1205, 0x1101});
  auto trace = timeline().work(5).launch(2).from_stack(calls).work(10).launch(2).from_stack(calls).work(4);
  samples_ = {{{{kStart + 8'000}, {4'000}, 100, stack({0x1507, 0x1102})},
               {{kStart + 10'000}, {3'000}, 100, stack({0x309, 0x1205, 0x1101})},
               {{kStart + 12'000}, {2'000}, 100, stack({0x1508, 0x1205, 0x1101})}}};
  const Contexts contexts = contexts_of(trace);
  EXPECT_NEAR(us(at(contexts, {"main", "primes"}).cpu_s), 4, 1e-6);
  EXPECT_NEAR(us(at(contexts, {"main", "step", "helper"}).cpu_s), 3, 1e-6);
  EXPECT_NEAR(us(at(contexts, {"main", "step", "primes"}).cpu_s), 2, 1e-6);
  EXPECT_NEAR(us(at(contexts, {"main", "step"}).cpu_s), 1, 1e-6);
}

// The inner step was left: the outer one called primes.
TEST_F(ContextsTest, FunctionsOfOneNameAreMatchedFromTheOutermostInwards) {
  const auto calls = stack({0x1205, 0x1204, 0x1101});
  auto trace = timeline().work(5).launch(2).from_stack(calls).work(10).launch(2).from_stack(calls).work(4);
  samples_ = {{{{1'008'000}, {4'000}, 100, stack({0x1507, 0x1204, 0x1101})}}};
  const Contexts contexts = contexts_of(trace);
  EXPECT_NEAR(us(at(contexts, {"main", "step", "primes"}).cpu_s), 4, 1e-6);
  EXPECT_NEAR(us(at(contexts, {"main", "step", "step"}).cpu_s), 6, 1e-6);
}

// Both calls are made in a library's helper. For 4 the CPU was in code that this calls, for 3 in what step calls beside it.
TEST_F(ContextsTest, WhatALibraryDoesBelowPythonKeepsItsPlace) {
  const auto calls = stack({0x309, 0x1205, 0x1101});
  auto trace = timeline().work(5).launch(2).from_stack(calls).work(10).launch(2).from_stack(calls).work(4);
  samples_ = {{{{1'008'000}, {4'000}, 100, stack({0x508, 0x309, 0x1205, 0x1101})},
               {{1'010'000}, {3'000}, 100, stack({0x508, 0x1205, 0x1101})}}};
  const Contexts contexts = contexts_of(trace);
  EXPECT_NEAR(us(at(contexts, {"main", "step", "helper", "primes"}).cpu_s), 4, 1e-6);
  EXPECT_NEAR(us(at(contexts, {"main", "step", "primes"}).cpu_s), 3, 1e-6);
}

// Without any function of the context in it, as at the program's end.
TEST_F(ContextsTest, PythonElsewhereIsBelowTheProgram) {
  const auto calls = stack({0x1205, 0x1101});
  auto trace = timeline().work(5).launch(2).from_stack(calls).work(10).launch(2).from_stack(calls).work(4);
  samples_ = {{{{1'008'000}, {4'000}, 100, stack({0x1507})}}};
  EXPECT_NEAR(us(at(contexts_of(trace), {"primes"}).cpu_s), 4, 1e-6);
}

TEST_F(ContextsTest, AThreadWithoutCallsHasWhatSamplesSaw) {
  samples_ = {{{{1'009'000}, {8'000}, 999, stack({0x309, 0x101})}}};
  const Contexts contexts = contexts_of(three_calls());
  EXPECT_NEAR(us(at(contexts, {"main", "helper"}).cpu_s), 8, 1e-6);
  double sum = contexts.recording_s;
  for (const ReportContext& node : contexts.nodes) sum += node.cpu_s + node.driver_s + node.waited_s;
  EXPECT_NEAR(sum, contexts.threads_s, 1e-12);
}

TEST_F(ContextsTest, TheDriversOwnThreadsAreLeftOut) {
  auto trace = three_calls();
  trace.on_thread(1).sync(lasting(5)).flags(kDriverThread).work(500).sync(lasting(5)).flags(kDriverThread);
  const Contexts contexts = contexts_of(trace);
  EXPECT_EQ(contexts.nodes[0].threads, 1u);
  double waited = 0;
  for (const ReportContext& node : contexts.nodes) waited += node.waited_s;
  EXPECT_NEAR(us(waited), 23, 1e-6);
}

TEST_F(ContextsTest, RanksAreSummedWithTheirSpread) {
  auto slow = three_calls();
  slow.sync(lasting(40)).from_stack(stack({0x206, 0x101}));
  const Contexts contexts =
      contexts_of({{three_calls(), ProcessOptions{.pid = 100, .rank = 0, .launches_traced = true}},
                   {slow, ProcessOptions{.pid = 200, .rank = 1, .launches_traced = true}}});
  const ReportContext& wait = at(contexts, {"main", "step", "cuCtxSynchronize"});
  EXPECT_EQ(wait.count, 3u);
  EXPECT_NEAR(us(wait.cpu_least_s), 21, 1e-6);
  EXPECT_NEAR(us(wait.cpu_most_s), 61, 1e-6);
  EXPECT_EQ(at(contexts, {"main"}).threads, 2u);
}

TEST_F(ContextsTest, WhatIsLeftOutIsSummedUnderItsParent) {
  auto trace = timeline();
  for (uint64_t line = 1; line <= 100; ++line)
    trace.sync(lasting(line == 50 ? 1000 : 1)).from_stack(stack({0x200 + line, 0x101})).work(1);
  Contexts contexts = contexts_of(trace);
  const auto sum = [&] {
    double all = 0;
    for (const ReportContext& node : contexts.nodes) all += node.cpu_s + node.driver_s + node.waited_s;
    return all;
  };
  const double before = sum();
  ASSERT_GT(contexts.nodes.size(), 100u);
  keep_largest(contexts, 10);
  EXPECT_LE(contexts.nodes.size(), 10u);
  EXPECT_NEAR(sum(), before, 1e-12);
  for (uint32_t i = 1; i < contexts.nodes.size(); ++i) EXPECT_LT(contexts.nodes[i].parent, i);
  double most = 0;
  for (const ReportContext& node : contexts.nodes)
    if (node.kind == Kind::call) most = std::max(most, us(node.waited_s));
  EXPECT_DOUBLE_EQ(most, 1000);
  EXPECT_EQ(at(contexts, {"main", "step", "smaller ones"}).kind, Kind::rest);
  EXPECT_EQ(at(contexts, {"main", "step", "smaller ones"}).count, 0u) << "calls are no pieces of work";
}

TEST(KeepLargest, WhatIsLeftOutKeepsItsPiecesOfWork) {
  Contexts contexts;
  contexts.nodes.resize(2);
  contexts.nodes[0].kind = Kind::root;
  for (uint32_t i = 0; i < 50; ++i) {
    ReportContext& call = contexts.nodes.emplace_back();
    call.parent = 1, call.kind = Kind::call, call.count = 7, call.driver_s = 0.001;
    const auto above = static_cast<uint32_t>(contexts.nodes.size() - 1);
    ReportContext& work = contexts.nodes.emplace_back();
    work.parent = above, work.kind = Kind::gpu, work.count = 3, work.gpu_s = 0.001 * (i + 1);
  }
  keep_largest(contexts, 20);
  EXPECT_LE(contexts.nodes.size(), 20u);
  uint64_t pieces = 0;
  for (const ReportContext& node : contexts.nodes)
    if (node.kind == Kind::gpu || node.kind == Kind::rest) pieces += node.count;
  EXPECT_EQ(pieces, 150u);
}

}  // namespace
}  // namespace diogenes
