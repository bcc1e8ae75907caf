#include "analysis/findings/required.h"

#include <gtest/gtest.h>

#include "analysis/report/coverage.h"
#include "analysis/testing/replayed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

// Of sites that lie at places of their own.
std::vector<Required> required_of(const Analysed& analysed, double least_us = 1, size_t most = 10) {
  return find_required(needed_input(analysed), analysed.problems.found, {},
                       Nanoseconds{static_cast<int64_t>(least_us * 1000)}, most)
      .found;
}

// One loop reads its result at once, another waits for nothing. Without the first one's wait of 20, the CPU goes on
// for 30 until the next wait: all of it is gained, twice.
TEST(Required, IsWhatTheLoopWouldGainWithoutItsNeededWait) {
  auto trace = timeline();
  for (int i = 0; i < 2; ++i) trace.launch(1).sync(lasting(20)).from(0x100).first_use(after(0)).work(30);
  trace.launch(1).sync(lasting(10)).from(0x200).unnecessary().work(40);
  Analysed analysed(trace);
  auto required = required_of(analysed);
  ASSERT_EQ(required.size(), 1u);
  EXPECT_EQ(required[0].count, 2u);
  EXPECT_EQ(required[0].instances, 2u);
  EXPECT_DOUBLE_EQ(us(required[0].waited), 40);
  EXPECT_DOUBLE_EQ(us(required[0].up_to.benefit), 40);
  EXPECT_EQ(required[0].reasons.at(kCpuAccess), 2u);
}

// Who does not ask for a result needs neither the call that waits for it, of 2, nor the copy that brings it, of 5.
TEST(Required, TakesTheCopiesToTheHostAlong) {
  auto trace = timeline();
  for (int i = 0; i < 2; ++i) {
    trace.launch(1).copy("cuMemcpyDtoHAsync_v2", 4, lasting(0), 5).from(0x150).without_wait();
    trace.sync(lasting(20), 2).from(0x100).first_use(after(0)).work(40);
  }
  trace.launch(1).sync(lasting(10)).from(0x200).unnecessary().work(40);
  Analysed analysed(trace);
  auto required = required_of(analysed);
  ASSERT_EQ(required.size(), 1u);
  EXPECT_EQ(required[0].count, 2u);
  EXPECT_DOUBLE_EQ(us(required[0].up_to.benefit), 2 * (20 + 2 + 5));
}

TEST(Required, LeavesOutWhatCostsLessAndWhatAMoveGains) {
  auto trace = timeline();
  trace.launch(1)
      .sync(lasting(20))
      .from(0x100)
      .first_use(after(20))
      .work(30);  // misplaced: a problem of its own
  trace.launch(1).sync(lasting(4)).from(0x200).first_use(after(0)).work(30);
  Analysed analysed(trace);
  ASSERT_EQ(analysed.problems.found.size(), 1u);
  EXPECT_EQ(required_of(analysed).size(), 1u);
  EXPECT_TRUE(required_of(analysed, 5).empty());
}

// 15 of 40 are gained where the result is used; the other 25 only by those who do not ask for it.
TEST(Required, HoldsWhatAMoveGainsLittleOf) {
  auto trace = timeline();
  trace.launch(1).sync(lasting(40)).from(0x100).first_use(after(15)).work(60);
  Analysed analysed(trace);
  ASSERT_EQ(analysed.problems.found.size(), 1u);
  EXPECT_EQ(analysed.problems.found[0].kind, ProblemKind::misplaced_synchronization);
  auto required = required_of(analysed);
  ASSERT_EQ(required.size(), 1u);
  EXPECT_EQ(required[0].count, 1u);
  EXPECT_DOUBLE_EQ(us(required[0].up_to.benefit), 25);
}

// Kernels of 100, and work of 50 behind the flag that is read each time: 3 x 151. A needless wait takes the time over, so that
// reading the flag finds all done. Without both, the kernels follow each other: they end at 301.
TEST(Required, FindsWhatANeedlessWaitTakesOver) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i) {
    trace.launch(1).sync(lasting(100)).from(0x200).unnecessary();
    trace.sync(lasting(0)).from(0x100).needed(kCpuAccess).without_wait().work(50);
  }
  const Replayed replayed(trace);
  const auto required = replayed.required().found;
  ASSERT_EQ(required.size(), 1u);
  EXPECT_EQ(required[0].count, 3u);
  EXPECT_EQ(required[0].instances, 3u);
  EXPECT_DOUBLE_EQ(us(required[0].up_to.benefit), 453 - 301);
  EXPECT_DOUBLE_EQ(us(required[0].waited), 0);
}

// The needless wait gains 10 where the first of two kernels takes the 70 that they have, and 30 where the second does: 40 are
// over when that can start. The run ends at 130 without either wait, of 220. So the needed one costs 80 or 60, and nothing else.
TEST(Required, HasTheRangeOfTheDifference) {
  auto trace = timeline();
  trace.launch(0).sync(lasting(40)).from(0x200).unnecessary().work(10);
  trace.launch(0).work(20).launch(0).sync(lasting(50)).from(0x100).first_use(after(0)).work(100);
  const Replayed replayed(trace);
  const auto required = replayed.required().found;
  ASSERT_EQ(required.size(), 1u);
  EXPECT_DOUBLE_EQ(us(required[0].up_to.benefit), 80);
  EXPECT_DOUBLE_EQ(us(required[0].up_to.low), 60);
  EXPECT_DOUBLE_EQ(us(required[0].up_to.high), 80);
}

// A copy of 1.5 to pageable memory waits in its own call, needlessly: the program waits for it all the same. With pinned memory
// the wait behind it does so. Without both, kernels of 103.5 follow each other.
TEST(Required, HoldsTheCopyThatWaitsBeforeTheProgramDoes) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i) {
    trace.launch(1).copy("cuMemcpyDtoHAsync_v2", 4, lasting(100), 5).from(0x150).pageable().unnecessary();
    trace.sync(lasting(0)).from(0x100).needed(kCpuAccess).without_wait().work(50);
  }
  const Replayed replayed(trace);
  ASSERT_EQ(replayed.analysed.problems.found.size(), 1u);
  EXPECT_EQ(replayed.analysed.problems.found[0].kind, ProblemKind::pageable_transfer);
  const auto required = replayed.required().found;
  ASSERT_EQ(required.size(), 1u);
  ASSERT_EQ(required[0].calls.size(), 2u);
  EXPECT_TRUE(required[0].calls[0].waits);
  EXPECT_EQ(required[0].calls[1].count, 3u);
  EXPECT_FALSE(required[0].calls[1].waits);
  EXPECT_NEAR(us(required[0].up_to.benefit), 3 * 156 - (1 + 3 * 103.5), 0.01);
}

// A library waits behind its copy, for nothing as long as the copy waits itself, and then the program does. With pinned memory the
// library's wait takes over: its line has the copy, and the program's wait for the same result.
TEST(Required, HoldsTheWaitThatTheCopyTakesOverToday) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i) {
    trace.launch(1).copy("cuMemcpyDtoHAsync_v2", 4, lasting(100), 5).from(0x150).pageable().unnecessary();
    trace.sync(lasting(0), 2).from(0x160).unnecessary().without_wait();
    trace.sync(lasting(0), 2).from(0x100).needed(kCpuAccess).without_wait().work(50);
  }
  const Replayed replayed(trace);
  ASSERT_EQ(replayed.analysed.problems.found.size(), 1u);
  EXPECT_EQ(replayed.analysed.problems.found[0].kind, ProblemKind::pageable_transfer);
  const auto required = replayed.required().found;
  ASSERT_EQ(required.size(), 1u);
  EXPECT_EQ(required[0].count, 3u);
  EXPECT_EQ(required[0].for_changed, 3u);
  EXPECT_EQ(required[0].reasons.at(kCpuAccess), 3u);
  ASSERT_EQ(required[0].calls.size(), 3u);
  // Three turns of 160; without all that, a launch and the three kernels of 103.5, one behind the other.
  EXPECT_NEAR(us(required[0].up_to.benefit), 3 * 160 - (1 + 3 * 103.5), 0.01);
}

// What two calls of one line ask for is one entry; what it costs is not the sum: without one of them, the other one waits.
TEST(Required, IsOneEntryForALine) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i) {
    trace.launch(1).sync(lasting(100)).from(0x100).needed(kCpuAccess);
    trace.sync(lasting(0)).from(0x200).needed(kCpuAccess).work(50);
  }
  const Replayed replayed(trace);
  EXPECT_TRUE(replayed.required().found.empty());
  const RequiredWaits line =
      replayed.required({[](SiteIndex) { return std::optional(ActingPlace("main.cc", 7)); }, {}});
  ASSERT_EQ(line.found.size(), 1u);
  EXPECT_EQ(line.found[0].count, 6u);
  EXPECT_EQ(line.found[0].calls.size(), 2u);
  EXPECT_DOUBLE_EQ(us(line.found[0].up_to.benefit), 453 - 301);
  EXPECT_DOUBLE_EQ(us(line.together.benefit), 453 - 301);
}

// A kernel of 10 tells whether to go on, and nothing else uses it: the line of 0x100 launches it, in a call of 2, and 5 later
// waits for the 3 that are left, in a call of 1. Without the wait 3 + 1 are gained; without the launch 2 + 5 more.
TEST(Required, HoldsAtMostWhatItsLineGivesTheGpuForIt) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i) {
    trace.launch(2).from(0x110).work(5).sync(lasting(3), 1).from(0x100).needed(kCpuAccess).work(40);
  }
  const Replayed replayed(trace);
  EXPECT_EQ(replayed.required().found[0].launches, 0u);
  EXPECT_DOUBLE_EQ(us(replayed.required().found[0].up_to.high), 3 * (3 + 1));
  const SiteTable& sites = replayed.analysed.sites;
  const auto found =
      replayed
          .required(
              {{}, [&](SiteIndex call, SiteIndex) { return function_of(sites[call])->role == Role::launch; }})
          .found;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].launches, 3u);
  EXPECT_DOUBLE_EQ(us(found[0].up_to.benefit), 3 * (3 + 1));
  EXPECT_DOUBLE_EQ(us(found[0].up_to.high), 3 * (2 + 5 + 3 + 1));
}

// A copy of 8 KiB brings what the CPU then works on for 40, and another 50 behind its next call: if the GPU did the first, 40 more
// would be gained. Of 64 bytes, or used only behind the next call, that is not said.
TEST(Required, HoldsTheWorkOnWhatWasBrought) {
  const auto found = [](uint64_t bytes, double used_after) {
    auto trace = timeline();
    for (int i = 0; i < 3; ++i) {
      trace.launch(2)
          .copy("cuMemcpyDtoH_v2", bytes, lasting(3), 5)
          .from(0x100)
          .first_use(after(used_after))
          .work(40);
      trace.launch(2).work(50);
    }
    const auto required = Replayed(trace).required().found;
    return required.empty() ? Required{} : required[0];
  };
  const Required worked = found(8192, 5);
  EXPECT_EQ(worked.count, 3u);
  EXPECT_DOUBLE_EQ(us(worked.work), 3 * 40);
  EXPECT_DOUBLE_EQ(us(worked.up_to.benefit) - us(worked.waits_gain), 3 * 40) << "as the advice is worded";
  EXPECT_DOUBLE_EQ(us(found(64, 5).work), 0);
  EXPECT_DOUBLE_EQ(us(found(8192, 45).work), 0);
}

// Copies of 40 bring 1 MiB each, of which nobody looks at 75%: without that, each takes 10. Of a tenth, nothing is said.
TEST(Required, SaysWhatOfTheDataNobodyLooksAt) {
  const auto found = [](uint8_t unused) {
    auto trace = timeline();
    for (int i = 0; i < 3; ++i) {
      trace.copy("cuMemcpyDtoHAsync_v2", 1 << 20, lasting(0), 5)
          .from(0x150)
          .without_wait()
          .unused_in_part(unused);
      trace.sync(lasting(40), 2).from(0x100).first_use(after(0)).work(50);
    }
    Analysed analysed(trace, {.launches_traced = true});
    for (Operation& operation : analysed.tracing.processes[0].threads[0].operations)
      if (operation.bytes.count > 0) operation.gpu = Nanoseconds{40'000};
    const Replay replay(analysed.tracing, analysed.sites, analysed.graph, {.machine = {}});
    const Models models(analysed.graph, &replay, Model::replay);
    ProblemInput input = needed_input(analysed);
    input.models = &models;
    return find_required(input, {}, {}, Nanoseconds{1000}, 10).found.at(0);
  };
  const Required much = found(75);
  EXPECT_EQ(much.bytes.count, 3u << 20);
  EXPECT_NEAR(static_cast<double>(much.unused.count), 0.75 * (3 << 20), 300);
  EXPECT_NEAR(us(much.without_unused), 3 * 30, 1);
  EXPECT_EQ(found(10).unused.count, 0u);
  EXPECT_EQ(found(10).without_unused.count, 0);
}

// The thread's last call neither waits nor gives work: the work before it lies behind all that the replay moves.
TEST(Required, HoldsNoWorkBehindTheLastThatTheReplayMoves) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i)
    trace.launch(2).copy("cuMemcpyDtoH_v2", 8192, lasting(3), 5).from(0x100).first_use(after(5)).work(40);
  trace.call("cuMemAlloc_v2", lasting(0), 1).without_wait();
  const auto found = Replayed(trace).required().found;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_DOUBLE_EQ(us(found[0].work), 3 * 40);
  EXPECT_DOUBLE_EQ(us(found[0].up_to.benefit) - us(found[0].waits_gain), 2 * 40);
}

// The CPU fills 8 KiB for 40, asks for an attribute in 1, works on for 2, and sends in 5: 12 times. What is done before the first
// may be anything; of a few bytes, or of ten or fewer, nothing is said.
TEST(Required, HoldsWhatTheCpuMakesAndSends) {
  const auto found = [](uint64_t bytes, int times) {
    auto trace = timeline();
    for (int i = 0; i < times; ++i) {
      trace.work(40).call("cuStreamIsCapturing", lasting(0), 1).without_wait().work(2);
      trace.copy("cuMemcpyHtoDAsync_v2", bytes, lasting(0), 5).without_wait().from(0x100);
      trace.launch(1);
    }
    return Replayed(trace).required();
  };
  const RequiredWaits sent = found(8192, 12);
  ASSERT_EQ(sent.found.size(), 1u);
  const Required& line = sent.found[0];
  EXPECT_TRUE(line.sends);
  EXPECT_EQ(line.count, 12u);
  EXPECT_EQ(line.instances, 12u);
  EXPECT_EQ(line.bytes.count, 12u * 8192);
  EXPECT_DOUBLE_EQ(us(line.made), 11 * 42);
  EXPECT_DOUBLE_EQ(us(line.up_to.benefit), 11 * 42 + 12 * 5);
  EXPECT_EQ(sent.together.benefit.count, 0);
  EXPECT_TRUE(found(64, 12).found.empty());
  EXPECT_TRUE(found(8192, 9).found.empty());
}

// Results of 4 bytes come one by one, 7 apart: together they come in one copy.
TEST(Required, HoldsAtMostTheTimeBetweenResultsThatComeOneByOne) {
  auto trace = timeline();
  trace.launch(2);
  for (int i = 0; i < 4; ++i)
    trace.copy("cuMemcpyDtoH_v2", 4, lasting(3), 5).from(0x100).first_use(after(1)).work(7);
  const Replayed replayed(trace);
  const auto found = [&](bool python, const PythonAdvice& form) {
    const auto lines =
        replayed
            .required({.place_of = [](SiteIndex) { return std::optional(ActingPlace("a", 7)); },
                       .made_at_line_of = [](SiteIndex, SiteIndex) { return true; },
                       .is_python = [=](SiteIndex) { return python; },
                       .another_form = [=](SiteIndex) { return form; }})
            .found;
    return lines.size() == 1 ? lines[0] : Required{};
  };
  const Required line = found(false, {});
  EXPECT_EQ(line.in_a_row, 3u);
  EXPECT_DOUBLE_EQ(us(line.between), 3 * 7);
  EXPECT_LT(line.up_to.benefit, line.at_most);
  const Required python = found(true, {"use .tolist()"});
  EXPECT_EQ(python.up_to.benefit, python.at_most) << "the advice is to bring them together";
  EXPECT_EQ(python.waits_gain, line.up_to.benefit);
  const Required other_form = found(true, {"use torch.where", true});
  EXPECT_EQ(other_form.up_to.benefit, line.up_to.benefit) << "the advice is another one";
}

// A loop over three rows, run `loops` times: in each turn a kernel, 5 of the CPU's time, a result of 4 bytes that takes 1 + 5, 7 of
// the CPU's time, another kernel, and 4. The kernels' launches take 2. Between the loops something is done elsewhere.
struct Rows {
  int loops = 12;
  uint64_t bytes = 4;
  int kernels = 1;           // after the result
  bool sends = false;        // each turn
  bool apart = true;         // something is done elsewhere between the loops
  bool sends_first = false;  // the first turn of each loop
  int others = 0;            // waits of the line with something elsewhere before each
  int64_t hook_cost_ns = 0, longer_ns = 0;
};
RequiredWaits required_of(const Rows& rows) {
  auto trace = timeline();
  const auto row = [&](bool sends) {
    if (sends) trace.copy("cuMemcpyHtoDAsync_v2", 4, lasting(0), 1).without_wait();
    trace.launch(2)
        .work(5)
        .copy("cuMemcpyDtoH_v2", rows.bytes, lasting(1), 5)
        .from(0x100)
        .first_use(after(1));
    trace.work(7);
    for (int kernel = 0; kernel < rows.kernels; ++kernel) trace.launch(2);
    trace.work(4);
  };
  const auto elsewhere = [&] { trace.call("cuMemAlloc_v2", lasting(0), 1).without_wait(); };
  for (int loop = 0; loop < rows.loops; ++loop) {
    if (rows.apart) elsewhere();
    for (int turn = 0; turn < 3; ++turn) row(rows.sends || (rows.sends_first && turn == 0));
  }
  for (int other = 0; other < rows.others; ++other) elsewhere(), row(false);
  trace.work(100).launch(1);  // until then the GPU is done
  const Replayed replayed(trace, rows.hook_cost_ns);
  const SiteTable& sites = replayed.analysed.sites;
  return replayed.required(
      {.place_of = {},
       .made_at_line_of = {},
       .is_python = [](SiteIndex) { return true; },
       .in_function_of = [&](SiteIndex call,
                             SiteIndex) { return function_of(sites[call])->role != Role::allocate; },
       .longer = Nanoseconds{rows.longer_ns}});
}

// All rows at once: the second and third turn go, with 26 each. Of the first, the result goes, of 6, and the 5 before it.
TEST(Required, HoldsAtMostTheTurnsOfALoopInPython) {
  const RequiredWaits rows = required_of(Rows{});
  ASSERT_EQ(rows.found.size(), 1u);
  const Required& line = rows.found[0];
  EXPECT_EQ(line.count, 36u);
  EXPECT_EQ(line.turns, 24u);
  EXPECT_EQ(line.loops, 12u);
  EXPECT_DOUBLE_EQ(us(line.waits_gain), 36 * 6);
  EXPECT_DOUBLE_EQ(us(line.up_to.benefit), 12 * (2 * 26 + 6 + 5)) << "as the advice is worded";
  EXPECT_DOUBLE_EQ(us(line.at_most), us(line.up_to.benefit));
  EXPECT_DOUBLE_EQ(us(rows.together.benefit), us(line.at_most));
  EXPECT_LE(us(rows.together.low), 36 * 6) << "the waits may be all that can go";
}

// Recording takes 1 behind each of 121 calls. The traced run took as much longer once more: so the 3 gaps of each turn that goes are
// shorter by 1, and that before the first turn's result.
TEST(Required, HoldsNoTimeThatTheUndisturbedProgramDoesNotTake) {
  const auto gain = [](int64_t longer_ns) {
    return us(required_of(Rows{.hook_cost_ns = 1'000, .longer_ns = longer_ns}).found.at(0).up_to.benefit);
  };
  const double explained = gain(0);
  EXPECT_DOUBLE_EQ(gain(121'000), explained);
  EXPECT_DOUBLE_EQ(gain(2 * 121'000), explained - 12 * (2 * 3 + 1));
  EXPECT_DOUBLE_EQ(gain(-50'000), explained) << "another processor, or a warm cache";
  EXPECT_DOUBLE_EQ(gain(10'000'000), gain(4 * 121'000)) << "there is an end to what recording may take";
}

TEST(Required, HoldsNoTurnsThatAreLikelyStepsOfTheWhole) {
  const auto turns = [](const Rows& rows) {
    const RequiredWaits required = required_of(rows);
    return required.found.empty() ? 99 : required.found[0].turns;
  };
  EXPECT_EQ(turns({.loops = 9}), 0u);
  EXPECT_EQ(turns({.bytes = 8192}), 0u);
  EXPECT_EQ(turns({.kernels = 24}), 0u);
  EXPECT_EQ(turns({.sends = true}), 0u);
  EXPECT_EQ(turns({.apart = false}), 0u);
  EXPECT_EQ(turns({.apart = false, .sends_first = true}), 0u) << "one loop, of which some steps send";
  EXPECT_EQ(turns({.sends_first = true}), 24u);
  EXPECT_EQ(turns({.others = 12}), 24u);
  EXPECT_EQ(turns({.others = 13}), 0u) << "more of its waits than not are in no turn";
}

// Each row brings two results, at two lines. Both hold the same turns; together they hold these once.
TEST(Required, HoldsTurnsOfTwoLinesOnce) {
  auto trace = timeline();
  for (int loop = 0; loop < 12; ++loop) {
    trace.call("cuMemAlloc_v2", lasting(0), 1).without_wait();
    for (int row = 0; row < 3; ++row)
      for (const uint64_t line : {0x100u, 0x200u}) {
        trace.launch(2).work(5).copy("cuMemcpyDtoH_v2", 4, lasting(1), 5).from(line).first_use(after(1));
        trace.work(7);
      }
  }
  trace.work(100).launch(1);
  const Replayed replayed(trace);
  const SiteTable& sites = replayed.analysed.sites;
  const RequiredWaits rows = replayed.required(
      {.place_of = {},
       .made_at_line_of = {},
       .is_python = [](SiteIndex) { return true; },
       .in_function_of = [&](SiteIndex call,
                             SiteIndex) { return function_of(sites[call])->role != Role::allocate; }});
  ASSERT_EQ(rows.found.size(), 2u);
  for (const Required& line : rows.found) {
    EXPECT_EQ(line.turns, 24u);
    EXPECT_DOUBLE_EQ(us(line.at_most), 12 * (2 * 40 + 6 + 5));
  }
  // The first line's two turns, with all between, and the results before these and behind.
  EXPECT_DOUBLE_EQ(us(rows.together.high), 12 * (2 * 40 + 2 * (6 + 5) + 7 + 2));
}

// The same kernels of 100, asked for again and again: four queries of 25 each are one wait.
TEST(Required, TakesALoopOfQueriesAsOneWait) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i) {
    trace.launch(1);
    for (const bool ready : {false, false, false, true}) {
      trace.call("cuStreamQuery", lasting(0), 25).from(0x100).without_wait();
      if (!ready) trace.flags(kFailed);
    }
    trace.work(50);
  }
  const Replayed replayed(trace);
  const auto required = replayed.required().found;
  ASSERT_EQ(required.size(), 1u);
  EXPECT_EQ(required[0].count, 3u);
  EXPECT_EQ(required[0].instances, 3u);
  EXPECT_EQ(required[0].queries, 12u);
  EXPECT_TRUE(required[0].reasons.empty());
  EXPECT_DOUBLE_EQ(us(required[0].waited), 300);
  EXPECT_DOUBLE_EQ(us(required[0].up_to.benefit), 453 - 301);
}

// Each gains its 10.
TEST(Required, SaysWhatAllLinesCostTogether) {
  auto trace = timeline();
  for (uint64_t place = 1; place <= 2; ++place)
    trace.launch(1).sync(lasting(10)).from(0x100 * place).first_use(after(0)).work(50);
  Analysed analysed(trace);
  const RequiredWaits required =
      find_required(needed_input(analysed), analysed.problems.found, {}, Nanoseconds{1000}, 10);
  ASSERT_EQ(required.found.size(), 2u);
  EXPECT_DOUBLE_EQ(us(required.together.benefit), 20);
}

// Two were not looked at, and one of them was seen to be used all the same.
TEST(Required, SaysHowManyWereNotJudged) {
  auto trace = timeline();
  for (const uint32_t reasons : std::initializer_list<uint32_t>{kCpuAccess, kOverBudget | kOtherThread,
                                                                kOverBudget | kCpuAccess, kSmallRange})
    trace.launch(1).sync(lasting(20)).from(0x100).needed(reasons).work(30);
  Analysed analysed(trace);
  auto required = required_of(analysed);
  ASSERT_EQ(required.size(), 1u);
  EXPECT_EQ(required[0].count, 4u);
  EXPECT_EQ(required[0].not_judged, 2u);
  EXPECT_EQ(coverage_of(analysed.tracing).judged, 2u);
}

TEST(Required, TakesNoMoreThanAsked) {
  auto trace = timeline();
  for (uint64_t place = 1; place <= 3; ++place)
    trace.launch(1)
        .sync(lasting(10 * static_cast<int>(place)))
        .from(0x100 * place)
        .first_use(after(0))
        .work(50);
  Analysed analysed(trace);
  auto required = required_of(analysed, 1, 2);
  ASSERT_EQ(required.size(), 2u);
  EXPECT_DOUBLE_EQ(us(required[0].up_to.benefit), 30);
  EXPECT_DOUBLE_EQ(us(required[1].up_to.benefit), 20);
}

}  // namespace
}  // namespace diogenes
