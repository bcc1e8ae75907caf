// What calls mean: work and its memory, streams, events, and what waits cover.
#include "analysis/necessity/interpret/interpret.h"

#include <gtest/gtest.h>

#include "analysis/necessity/testing/interpreted.h"

namespace diogenes::necessity {
namespace {

using namespace diogenes::testing;
using namespace testing;
using Lines = std::vector<std::string>;

constexpr uint64_t kDevice = 0x7000'0000, kHost = 0x10'0000, kPinned = 0x20'0000;
constexpr MemoryKind kOnDevice = MemoryKind::device, kPageable = MemoryKind::pageable;
constexpr uint32_t kLegacy = kLegacyStream;

CallFacts launch(int64_t begin, uint32_t stream = kLegacy) {
  return {.begin = begin,
          .stream = stream,
          .operands = {operand(kDevice, 64, kReads | kWrites | kArgument, kOnDevice)},
          .list_flags = kHasKernel};
}

CallFacts download(int64_t begin, uint64_t to = kHost, MemoryKind kind = kPageable) {
  return {.begin = begin,
          .flags = kWaited,
          .stream = kLegacy,
          .operands = {operand(kDevice, 64, kReads, kOnDevice), operand(to, 64, kWrites | kWhole, kind)},
          .transfer = transfer_of(kind, kOnDevice, 64)};
}

CallFacts upload(int64_t begin) {
  return {.begin = begin,
          .flags = kWaited,
          .stream = kLegacy,
          .operands = {operand(kDevice, 64, kWrites | kWhole, kOnDevice),
                       operand(kHost, 64, kReads | kByCall, kPageable)},
          .transfer = transfer_of(kOnDevice, kPageable, 64)};
}

TEST(Interpret, OneCallFromBeginToTheProgramGoingOn) {
  CallFacts sync{.begin = 30, .lasts = 10, .after = 5};
  auto all = all_events(Facts()
                            .call("cuLaunchKernel", launch(10))
                            .touch(1, 25)
                            .watch(2, kHost, 64, 42)
                            .call("cuCtxSynchronize", sync));
  EXPECT_EQ(all.lines,
            (Lines{"10 begin t0", "20 work t0 s0 [m0 0x70000000+64 r argument] [m0 0x70000000+64 w argument]",
                   "20 end t0", "30 begin t0", "40 covers t0 certain=s0", "42 watch t0 w0 m1 0x100000+64",
                   "45 end t0", "45 ends"}));
  EXPECT_EQ(all.unclear.watches, 1u);  // the touch of one that nobody raised
}

// What the agent asks of the driver to write the records takes memory, which may lie beside a result.
TEST(Interpret, ATouchAmongACallsRecordsTakesNoneOfThemAway) {
  CallFacts sync{.begin = 30, .lasts = 10, .after = 5, .touched_in_records = {{2, 43}}};
  auto all = all_events(
      Facts().watch(2, kHost, 64, 5).call("cuLaunchKernel", launch(10)).call("cuCtxSynchronize", sync));
  EXPECT_EQ(all.lines, (Lines{"5 watch t0 w0 m0 0x100000+64", "10 begin t0",
                              "20 work t0 s0 [m1 0x70000000+64 r argument] [m1 0x70000000+64 w argument]",
                              "20 end t0", "30 begin t0", "40 covers t0 certain=s0",
                              "43 touch t0 w0 m0 0x100000+64", "43 sleep t0", "45 end t0", "45 ends"}));
  EXPECT_EQ(all.unclear, Unclear{});
}

TEST(Interpret, ABlockingDownloadCoversItsStreamAndItself) {
  EXPECT_EQ(events(Facts().call("cuMemcpyDtoH_v2", download(10))),
            (Lines{"20 work t0 s0 [m0 0x70000000+64 r] [m1 0x100000+64 w whole host]",
                   "20 covers t0 certain=s0 own implicit"}));
}

// The source is read by the CPU in the call, behind the wait for earlier work; the copy may end later.
TEST(Interpret, ABlockingUploadFromPageableMemory) {
  EXPECT_EQ(events(Facts().call("cuMemcpyHtoD_v2", upload(10))),
            (Lines{"20 work t0 s0 m1 0x100000+64 [m0 0x70000000+64 w whole]",
                   "20 releases t0 m1 0x100000+64 lives_on", "20 covers t0 certain=s0 may=s0 implicit"}));
}

TEST(Interpret, AnAsynchronousDownloadCoversOnlyToPageableMemoryWhereItWaited) {
  CallFacts pinned = download(10, kPinned, MemoryKind::pinned), pageable = download(30);
  pinned.flags = 0;
  EXPECT_EQ(events(Facts().call("cuMemcpyDtoHAsync_v2", pinned).call("cuMemcpyDtoHAsync_v2", pageable)),
            (Lines{"20 work t0 s0 [m0 0x70000000+64 r] [m1 0x200000+64 w whole host]",
                   "40 work t0 s0 [m0 0x70000000+64 r] [m1 0x100000+64 w whole host]",
                   "40 covers t0 certain=s0 own implicit undocumented"}));
}

// Found all done, and entered no wait: it covers the same.
TEST(Interpret, HowFastTheGpuWasDoesNotMatter) {
  CallFacts copy = download(10);
  copy.flags = 0;
  EXPECT_EQ(events(Facts().call("cuMemcpyDtoH_v2", copy)).back(), "20 covers t0 certain=s0 own implicit");
}

TEST(Interpret, ACopyOfNoBytesDoesNothing) {
  CallFacts copy{.begin = 10, .stream = kLegacy, .transfer = transfer_of(kPageable, kOnDevice, 0)};
  EXPECT_EQ(events(Facts().call("cuMemcpyDtoH_v2", copy)), Lines{});
}

TEST(Interpret, FailedAndCapturedCallsDoNothing) {
  CallFacts failed = launch(10), captured = launch(30), wait{.begin = 50, .flags = kFailed | kWaited};
  failed.flags = kFailed;
  captured.flags = kCapturing;
  EXPECT_EQ(events(Facts()
                       .call("cuLaunchKernel", failed)
                       .call("cuLaunchKernel", captured)
                       .call("cuCtxSynchronize", wait)),
            Lines{});
}

// s0 and s1 are the user's, s2 is the legacy stream, s3 the non-blocking one.
TEST(Interpret, BlockingAndLegacyStreamsWaitForEachOther) {
  Facts facts;
  facts.stream(2).stream(3).stream(4, kCertainStream);
  facts.call("cuLaunchKernel", launch(10, 2)).call("cuLaunchKernel", launch(30, 3));
  facts.call("cuLaunchKernel", launch(50)).call("cuLaunchKernel", launch(70, 4));
  facts.call("cuLaunchKernel", launch(90, 2));
  auto lines = events(facts);
  std::string access = " [m0 0x70000000+64 r argument] [m0 0x70000000+64 w argument]";
  EXPECT_EQ(lines, (Lines{"20 work t0 s0" + access, "40 work t0 s1" + access,
                          "60 work t0 s2" + access + " behind=s0,s1", "80 work t0 s3" + access,
                          "100 work t0 s0" + access + " behind=s2"}));
}

TEST(Interpret, StreamsOfAnotherContextAndUncertainOnesAreNotOrdered) {
  Facts facts;
  facts.stream(2, kBlockingStream | kCertainStream, 2).stream(3, kBlockingStream, 1);
  facts.call("cuLaunchKernel", launch(10, 2)).call("cuLaunchKernel", launch(30, 3));
  facts.call("cuLaunchKernel", launch(50)).call("cuCtxSynchronize", {.begin = 70});
  auto lines = events(facts);
  EXPECT_TRUE(lines[2].ends_with("w argument]")) << lines[2];
  EXPECT_EQ(lines[3], "80 covers t0 certain=s2 may=s1");
}

// Its work is covered by a wait for its context; behind that, nothing names it.
TEST(Interpret, ADestroyedStreamEndsWhenItsWorkIsDone) {
  Facts facts;
  facts.stream(2).call("cuLaunchKernel", launch(10, 2));
  facts.call("cuStreamDestroy_v2", {.begin = 30, .stream = 2}).call("cuCtxSynchronize", {.begin = 50});
  facts.call("cuCtxSynchronize", {.begin = 70});
  auto lines = events(facts);
  lines.erase(lines.begin());
  EXPECT_EQ(lines, (Lines{"60 covers t0 certain=s0", "60 stream_ends t0 s0", "80 covers t0"}));
}

TEST(Interpret, PerThreadStreamsAreOneAThreadAndContext) {
  Facts facts;
  facts.call("cuLaunchKernel_ptsz", launch(10, kPerThreadStream));
  CallFacts other = launch(30, kPerThreadStream);
  other.context = 2;
  facts.call("cuLaunchKernel_ptsz", other).on(1).call("cuLaunchKernel_ptsz", launch(50, kPerThreadStream));
  auto lines = events(facts);
  EXPECT_EQ(lines[0].substr(0, 13), "20 work t0 s0");
  EXPECT_EQ(lines[1].substr(0, 13), "40 work t0 s1");
  EXPECT_EQ(lines[2].substr(0, 13), "60 work t1 s2");
}

TEST(Interpret, ALegacyStreamsOwnWaitMayCoverBlockingStreamsThatAreAhead) {
  Facts facts;
  facts.stream(2);
  facts.call("cuLaunchKernel", launch(10)).call("cuLaunchKernel", launch(30, 2));
  facts.call("cuStreamSynchronize", {.begin = 50, .stream = kLegacy});
  facts.call("cuEventRecord", {.begin = 70, .stream = kLegacy, .object = 2});
  facts.call("cuLaunchKernel", launch(90));
  facts.call("cuStreamSynchronize", {.begin = 110, .stream = kLegacy});
  auto lines = events(facts);
  EXPECT_EQ(lines[2], "60 covers t0 certain=s0 may=s1");
  EXPECT_EQ(lines[3], "80 record t0 s0 e0 doubtful");
  EXPECT_EQ(lines[5], "120 covers t0 certain=s0");
}

TEST(Interpret, AnEventInABlockingStreamMayStandForLegacyWorkBeforeIt) {
  Facts facts;
  facts.stream(2).stream(3, kCertainStream);
  facts.call("cuLaunchKernel", launch(10));
  facts.call("cuEventRecord", {.begin = 30, .stream = 2, .object = 2});
  facts.call("cuEventRecord", {.begin = 50, .stream = 3, .object = 3});
  facts.call("cuLaunchKernel", launch(70, 2));
  facts.call("cuEventRecord", {.begin = 90, .stream = 2, .object = 2});
  auto lines = events(facts);
  EXPECT_EQ(lines[1], "40 record t0 s1 e0 doubtful");
  EXPECT_EQ(lines[2], "60 record t0 s2 e1");   // a non-blocking one
  EXPECT_EQ(lines[4], "100 record t0 s1 e0");  // its own work came behind the legacy stream's
}

// A stream that holds a wait alone is ordered with the legacy stream as if it held work.
TEST(Interpret, AStreamsWaitIsAheadOfTheLegacyStream) {
  Facts facts;
  facts.stream(2).stream(3, kCertainStream);
  facts.call("cuEventRecord", {.begin = 10, .stream = 3, .object = 2});
  facts.call("cuStreamWaitEvent", {.begin = 30, .stream = 2, .object = 2});
  facts.call("cuStreamSynchronize", {.begin = 50, .stream = kLegacy});
  facts.call("cuLaunchKernel", launch(70));
  auto lines = events(facts);
  EXPECT_EQ(lines[2], "60 covers t0 certain=s2 may=s1");
  EXPECT_TRUE(lines[3].ends_with(" behind=s1")) << lines[3];
}

TEST(Interpret, EventsAreRecordedWaitedForAskedAndUsed) {
  Facts facts;
  facts.stream(2, kCertainStream).stream(3, kCertainStream);
  facts.call("cuEventCreate", {.begin = 0, .object = 2}).call("cuEventCreate", {.begin = 10, .object = 3});
  facts.call("cuEventRecord", {.begin = 20, .stream = 2, .object = 2});
  facts.call("cuEventRecord", {.begin = 30, .stream = 2, .object = 3});
  facts.call("cuStreamWaitEvent", {.begin = 40, .stream = 3, .object = 2});
  facts.call("cuEventQuery", {.begin = 50, .flags = kFailed, .object = 3});
  facts.call("cuEventQuery", {.begin = 60, .object = 3});
  facts.call("cuEventSynchronize", {.begin = 70, .object = 2});
  facts.call("cuEventElapsedTime", {.begin = 80, .object = 2, .stream2 = 3});
  facts.call("cuEventDestroy_v2", {.begin = 90, .object = 2});
  EXPECT_EQ(events(facts),
            (Lines{"30 record t0 s0 e0 timed", "40 record t0 s0 e1 timed", "50 wait_mark t0 s3 e0",
                   "60 query t0 e1 not_ready", "70 query t0 e1", "80 covers t0 e0", "90 uses_mark t0 e0",
                   "90 uses_mark t0 e1", "100 mark_ends t0 e0"}));
}

TEST(Interpret, AnEventThatNobodyRecordedCoversNothingAndAnUnknownOneMayCoverAll) {
  Facts facts;
  facts.call("cuEventCreate", {.begin = 0, .object = 2});
  facts.call("cuEventSynchronize", {.begin = 20, .object = 2});
  facts.call("cuEventSynchronize", {.begin = 40, .object = 9});
  EXPECT_EQ(events(facts), (Lines{"30 covers t0", "50 covers t0 may=all"}));
}

// By whom it is recorded in a stream that is not known: what a wait for it covers is not known any more.
TEST(Interpret, AnEventThatIsRecordedAgainOutOfOrder) {
  Facts facts;
  facts.stream(2, kCertainStream);
  facts.call("cuEventRecord", {.begin = 0, .stream = 2, .object = 2});
  facts.call("cuEventRecord", {.begin = 20, .stream = kNoStream, .object = 2});
  facts.call("cuEventSynchronize", {.begin = 40, .object = 2});
  EXPECT_EQ(events(facts), (Lines{"10 record t0 s0 e0", "50 covers t0 may=all"}));
}

TEST(Interpret, EventsRecordedOutOfSight) {
  Facts facts;
  facts.stream(2, kCertainStream);
  facts.call("cuEventRecord", {.begin = 0, .stream = 2, .object = 2});
  facts.call(
      "cuGraphLaunch",
      {.begin = 20, .stream = 2, .call_flags = kGivesWork | kRecordsUnknown, .list_flags = kAnyDevice});
  facts.call("cuEventSynchronize", {.begin = 40, .object = 2});
  EXPECT_EQ(events(facts), (Lines{"10 record t0 s0 e0", "30 work t0 s0 [any w]", "50 covers t0 may=all"}));
}

TEST(Interpret, AReleaseCoversItsContextAndIsDeferrable) {
  Facts facts;
  facts.stream(2, kCertainStream, 1);
  CallFacts free{.begin = 50, .flags = kWaited, .context = 2, .allocation = released(kDevice)};
  facts.call("cuMemAlloc_v2", {.begin = 0, .allocation = allocated(kDevice, 256)});
  facts.call("cuLaunchKernel", launch(20, 2)).call("cuMemFree_v2", free);
  EXPECT_EQ(events(facts), (Lines{"30 work t0 s0 [m0 0x70000000+64 r argument] [m0 0x70000000+64 w argument]",
                                  "60 releases t0 m0 0x70000000+256 deferrable",
                                  "60 covers t0 certain=s0 implicit undocumented"}));
}

TEST(Interpret, MemoryIsSeenWhenItComes) {
  Facts facts;
  facts.call("cuMemAlloc_v2", {.begin = 0, .allocation = allocated(kDevice, 256)});
  facts.call("cuMemAllocHost_v2", {.begin = 20, .allocation = allocated(kPinned, 64, MemoryKind::pinned)});
  EXPECT_EQ(all_events(facts).lines,
            (Lines{"0 begin t0", "10 allocates t0 m0 0x70000000+256", "10 end t0", "20 begin t0",
                   "30 allocates t0 m1 0x200000+64", "30 end t0", "30 ends"}));
}

TEST(Interpret, AnAddressThatIsGivenOutAgainIsAnotherMemory) {
  Facts facts;
  for (int64_t begin : {0, 100}) {
    facts.call("cuMemAlloc_v2", {.begin = begin, .allocation = allocated(kDevice, 64)});
    facts.call("cuMemsetD8_v2", {.begin = begin + 20,
                                 .stream = kLegacy,
                                 .operands = {operand(kDevice, 64, kWrites | kWhole, kOnDevice)},
                                 .transfer = transfer_of(kOnDevice, MemoryKind::unknown, 64)});
    facts.call("cuMemFree_v2", {.begin = begin + 40, .allocation = released(kDevice)});
  }
  EXPECT_EQ(
      events(facts),
      (Lines{"30 work t0 s0 [m0 0x70000000+64 w whole]", "50 releases t0 m0 0x70000000+64 deferrable",
             "130 work t0 s0 [m1 0x70000000+64 w whole]", "150 releases t0 m1 0x70000000+64 deferrable"}));
}

// The release has not returned when another thread is given the address.
TEST(Interpret, AnAddressThatIsGivenOutAgainDuringItsRelease) {
  Facts facts;
  facts.call("cuMemAlloc_v2", {.begin = 0, .allocation = allocated(kDevice, 64)});
  facts.call("cuLaunchKernel", launch(20));
  facts.call("cuMemFree_v2", {.begin = 40, .lasts = 40, .allocation = released(kDevice)});
  facts.on(1).call("cuMemAlloc_v2", {.begin = 50, .allocation = allocated(kDevice, 64)});
  facts.call("cuLaunchKernel", launch(90));
  auto lines = events(facts);
  EXPECT_TRUE(lines[0].starts_with("30 work t0 s0 [m0")) << lines[0];
  EXPECT_TRUE(lines.back().starts_with("100 work t1 s0 [m1")) << lines.back();
}

TEST(Interpret, StreamOrderedMemoryIsWrittenWhenItComesAndGoes) {
  Facts facts;
  facts.stream(2);
  facts.call("cuMemAllocAsync",
             {.begin = 0, .stream = 2, .call_flags = kGivesWork, .allocation = allocated(kDevice, 64)});
  facts.call("cuMemFreeAsync",
             {.begin = 20, .stream = 2, .call_flags = kGivesWork, .allocation = released(kDevice)});
  EXPECT_EQ(events(facts),
            (Lines{"10 work t0 s0 [m0 0x70000000+64 w whole]", "30 work t0 s0 [m0 0x70000000+64 w whole]"}));
}

TEST(Interpret, ModulesWaitForTheirOwnWorkUnlessThereIsOther) {
  Facts facts;
  facts.stream(2, kCertainStream);
  facts.call("cuModuleLoadData", {.begin = 0, .flags = kWaited}).call("cuLaunchKernel", launch(20, 2));
  facts.call("cuModuleLoadData", {.begin = 40, .flags = kWaited});
  facts.call("cuModuleUnload", {.begin = 60, .flags = kWaited});
  auto lines = events(facts);
  EXPECT_EQ(lines[0], "10 covers t0 implicit undocumented for_itself");
  EXPECT_EQ(lines[2], "50 covers t0 may=s0 implicit undocumented");
  EXPECT_EQ(lines[3], "70 covers t0 certain=s0 implicit undocumented");
}

TEST(Interpret, GatesAreWhatTheCpuMayLetGoOn) {
  Facts facts;
  CallFacts polls = launch(10), maps = launch(30), function = launch(50), value = launch(70);
  polls.operands = {operand(kPinned, 64, kReads | kWrites | kArgument, MemoryKind::pinned)};
  maps.list_flags |= kAnyHost;
  function.operands = {};
  function.list_flags = kRunsOnHost | kAnyPageable;
  value.operands = {operand(kDevice, 4, kReads, kOnDevice)};
  value.list_flags = kWaitsForHost;
  facts.call("cuLaunchKernel", polls).call("cuLaunchKernel", maps);
  facts.call("cuLaunchHostFunc", function).call("cuStreamWaitValue32_v2", value);
  EXPECT_EQ(
      events(facts),
      (Lines{"20 work t0 s0 [m0 0x200000+64 r host argument] [m0 0x200000+64 w host argument] gate",
             "40 work t0 s0 [m1 0x70000000+64 r argument] [m1 0x70000000+64 w argument] [any w host] gate",
             "60 work t0 s0 [any w host] gate blind=0x800", "80 work t0 s0 [m1 0x70000000+4 r] gate"}));
}

// The call is the kernel's first use of what it is given.
TEST(Interpret, AKernelThatBeginsEarlyUsesItsMemoryAtOnce) {
  CallFacts early = launch(30);
  early.list_flags |= kStartsEarly;
  EXPECT_EQ(events(Facts().call("cuLaunchKernel", launch(10)).call("cuLaunchKernelEx", early)),
            (Lines{"20 work t0 s0 [m0 0x70000000+64 r argument] [m0 0x70000000+64 w argument]",
                   "40 releases t0 m0 0x70000000+64 lives_on", "40 releases t0 m0 0x70000000+64 lives_on",
                   "40 work t0 s0 [m0 0x70000000+64 r argument] [m0 0x70000000+64 w argument]"}));
}

TEST(Interpret, WhatIsLostMayBeAnything) {
  CallFacts list = launch(10), none = launch(30), record = launch(50);
  list.lost_list = true;
  none.operands = {};
  none.list_flags = 0;
  none.call_flags = kGivesWork;
  record.no_call_record = true;
  auto all = all_events(
      Facts().call("cuLaunchKernel", list).call("cuLaunchKernel", none).call("cuLaunchKernel", record));
  std::erase_if(all.lines, [](const std::string& line) { return line.find("work") == line.npos; });
  EXPECT_EQ(all.lines, (Lines{"20 work t0 s0 [any w host] gate blind=0x200",
                              "40 work t0 s0 [any w host] gate blind=0x200",
                              "60 work t0 s1 [any w host] gate blind=0x200"}));
  EXPECT_EQ(all.unclear, (Unclear{.calls = 1, .operands = 3, .streams = 1}));
}

TEST(Interpret, SharedMemoryBlindsAllWorkFromThenOn) {
  auto lines = events(Facts()
                          .call("cuLaunchKernel", launch(10))
                          .call("cuIpcGetMemHandle", {.begin = 30, .call_flags = kSharesMemory})
                          .call("cuLaunchKernel", launch(50)));
  EXPECT_EQ(lines[0].find("blind"), std::string::npos);
  EXPECT_TRUE(lines[1].ends_with("blind=0x20")) << lines[1];
}

TEST(Interpret, UnregisteringIsNoReleaseOfTheMemory) {
  Facts facts;
  facts.call("cuMemHostRegister_v2",
             {.begin = 0, .allocation = allocated(kHost, 4096, MemoryKind::registered)});
  facts.call("cuMemcpyDtoHAsync_v2", download(20, kHost, MemoryKind::registered));
  facts.watch(1, kHost, 64, 35).touch(1, 40);
  facts.call("cuMemHostUnregister",
             {.begin = 60, .flags = kWaited, .allocation = released(kHost, MemoryKind::registered)});
  EXPECT_EQ(events(facts).back(), "70 covers t0 certain=s0 implicit undocumented");
}

}  // namespace
}  // namespace diogenes::necessity
