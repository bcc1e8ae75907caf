// From a process folder with facts to the evidence of its operations.
#include "analysis/necessity/judge_process.h"

#include <gtest/gtest.h>

#include "analysis/analyse.h"
#include "analysis/report/notices.h"
#include "trace/searched_copies.h"
#include "trace/session.h"
#include "trace/testing/facts_builder.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes::necessity {
namespace {

using namespace diogenes::testing;

constexpr uint64_t kDevice = 0x7000'0000, kHost = 0x10'0000;

CallFacts download(int64_t begin) {
  return {.begin = begin,
          .stream = kLegacyStream,
          .operands = {operand(kDevice, 64, kReads, MemoryKind::device),
                       operand(kHost, 64, kWrites | kWhole, MemoryKind::pinned)},
          .transfer = transfer_of(MemoryKind::pinned, MemoryKind::device, 64)};
}

std::vector<Evidence> evidence(const Facts& facts) {
  TemporaryFolder folder;
  facts.write(folder.path());
  SiteTable sites;
  auto run = load_judged_run(folder.path(), sites);
  EXPECT_EQ(run->judgement.withdrawn, 0u);
  return run->processes.at(0).threads.at(0).evidence;
}

// Copy, wait at [30, 40], the program goes on at 45, and reads the result at 60.
TEST(JudgeProcess, AWaitWhoseDataIsReadIsNeeded) {
  Facts facts;
  facts.call("cuMemcpyDtoHAsync_v2", download(10));
  facts.watch(1, kHost, 64, 42);
  facts.call("cuCtxSynchronize", {.begin = 30, .after = 5, .flags = kWaited}).touch(1, 60);
  auto judged = evidence(facts);
  EXPECT_FALSE(judged[0].judged);
  EXPECT_TRUE(judged[1].judged);
  EXPECT_EQ(judged[1].reasons, uint32_t{kCpuAccess});
  EXPECT_EQ(judged[1].after_ns, 15);
}

// The kernel may reach what the copy behind it reads: that is a pair to look at.
TEST(JudgeProcess, WhatWouldTakeTooLongIsNotJudged) {
  Facts facts;
  facts.call("cuLaunchKernel", {.begin = 5, .stream = 7, .list_flags = kHasKernel | kAnyDevice});
  facts.call("cuMemcpyDtoHAsync_v2", download(10));
  facts.call("cuCtxSynchronize", {.begin = 30, .after = 5, .flags = kWaited});
  TemporaryFolder folder;
  facts.write(folder.path());
  for (const uint64_t most : {0, 100}) {
    SiteTable sites;
    auto run = load_judged_run(folder.path(), sites, {.most_looks = most});
    EXPECT_EQ(run->judgement.too_many, most == 0 ? 1u : 0u);
    EXPECT_EQ(run->processes.at(0).threads.at(0).evidence.at(2).judged, most > 0);
    EXPECT_NE(run->processes.at(0).threads.at(0).evidence.at(2).reasons, 0u);
  }
}

// Either wait would do in each of the two processes. In the first the later one stays, and so it does in the second, where it
// is the earlier one: it is one program that loses a line.
TEST(JudgeProcess, OfSeveralWaitsTheSameOneStaysInAllProcesses) {
  Facts first, second;
  second.process(200, 1, 5);
  for (Facts* facts : {&first, &second}) {
    facts->call("cuMemcpyDtoHAsync_v2", download(10));
    facts->watch(1, kHost, 64, 42);
  }
  first.call("cuStreamSynchronize", {.begin = 30, .flags = kWaited, .stream = kLegacyStream})
      .call("cuCtxSynchronize", {.begin = 50, .flags = kWaited})
      .touch(1, 80);
  second.call("cuCtxSynchronize", {.begin = 30, .flags = kWaited})
      .call("cuStreamSynchronize", {.begin = 50, .flags = kWaited, .stream = kLegacyStream})
      .touch(1, 80);
  TemporaryFolder folder;
  first.write(folder.path());
  second.write(folder.path());
  SiteTable sites;
  auto run = load_judged_run(folder.path(), sites);
  ASSERT_EQ(run->processes.size(), 2u);
  for (const Process& process : run->processes)
    for (size_t i = 0; i < process.threads[0].operations.size(); ++i) {
      const std::string name = operation_name(sites[process.threads[0].operations[i].site]);
      const uint32_t reasons = process.threads[0].evidence[i].reasons;
      if (name == "cuCtxSynchronize") {
        EXPECT_EQ(reasons, uint32_t{kCpuAccess});
      }
      if (name == "cuStreamSynchronize") {
        EXPECT_EQ(reasons, 0u);
      }
    }
}

// The same, read at 60,045: for 50 us the reader was held, until other threads were at rest.
TEST(JudgeProcess, WhatATouchIsHeldForIsNoTimeToIt) {
  Facts facts;
  facts.call("cuMemcpyDtoHAsync_v2", download(10));
  facts.watch(1, kHost, 64, 42);
  facts.call("cuCtxSynchronize", {.begin = 30, .after = 5, .flags = kWaited})
      .touch(1, 60'045, Touching::reads, Toucher::program, 50);
  auto judged = evidence(facts);
  EXPECT_EQ(judged[1].reasons, uint32_t{kCpuAccess});
  EXPECT_EQ(judged[1].after_ns, 10'000);
}

TEST(JudgeProcess, AWaitWhoseDataNobodyTouchedIsNotNeeded) {
  Facts facts;
  facts.call("cuMemcpyDtoHAsync_v2", download(10));
  facts.watch(1, kHost, 64, 42);
  facts.call("cuCtxSynchronize", {.begin = 30, .after = 5, .flags = kWaited});
  auto judged = evidence(facts);
  EXPECT_TRUE(judged[1].judged);
  EXPECT_EQ(judged[1].reasons, 0u);
  EXPECT_EQ(judged[0].unused, Unused::released);
}

// Anybody may have touched it. --max-overhead: the first wait's data is watched, the second's is not.
TEST(JudgeProcess, AWaitWhoseDataWasNotLookedAtIsNeeded) {
  Facts facts;
  facts.call("cuMemcpyDtoHAsync_v2", download(10));
  facts.watch(1, kHost, 64, 42);
  facts.call("cuCtxSynchronize", {.begin = 30, .after = 5, .flags = kWaited}).unwatch(1, 105);
  facts.call("cuMemcpyDtoHAsync_v2", download(110));
  facts.watch(0, kHost, 64, 142, WatchRefusal::not_looked_at);
  facts.call("cuCtxSynchronize", {.begin = 130, .after = 5, .flags = kWaited});
  auto judged = evidence(facts);
  EXPECT_EQ(judged[1].reasons, 0u);
  EXPECT_TRUE(judged[3].judged);
  EXPECT_TRUE(is_left_out(judged[3].reasons)) << judged[3].reasons;
  EXPECT_EQ(judged[2].unused, Unused::no);
}

// What came after it is not known.
TEST(JudgeProcess, AKilledProcessNeededIt) {
  Facts facts;
  facts.call("cuMemcpyDtoHAsync_v2", download(10));
  facts.watch(1, kHost, 64, 42).ends(ProcessEnd::running);
  facts.call("cuCtxSynchronize", {.begin = 30, .after = 5, .flags = kWaited});
  EXPECT_TRUE(evidence(facts)[1].reasons & kUnresolved);
}

// The CPU reads the data in the call that sends it back, whatever the stream's order.
TEST(JudgeProcess, DataThatGoesBackToTheDeviceIsUsed) {
  Facts facts;
  CallFacts down = download(10);
  down.operands[1].kind = MemoryKind::pageable;
  down.transfer = transfer_of(MemoryKind::pageable, MemoryKind::device, 64);
  down.flags = kWaited;
  down.after = 5;
  facts.watch(1, kHost, 64, 22).call("cuMemcpyDtoH_v2", down).unwatch(1, 31);
  facts.call("cuMemcpyHtoDAsync_v2",
             {.begin = 30,
              .stream = kLegacyStream,
              .operands = {operand(kDevice, 64, kWrites | kWhole, MemoryKind::device),
                           operand(kHost, 64, kReads | kByCall, MemoryKind::pageable)},
              .transfer = transfer_of(MemoryKind::device, MemoryKind::pageable, 64)});
  auto judged = evidence(facts);
  EXPECT_NE(judged[0].reasons, 0u);
  EXPECT_EQ(judged[0].reasons & kUnresolved, 0u);
  EXPECT_EQ(judged[0].after_ns, 5);  // from 25 to the call's begin
  EXPECT_EQ(judged[0].unused, Unused::no);
}

// Event 2 is recorded, and then there is work.
Facts recorded_and_filled() {
  Facts facts;
  facts.call("cuEventRecord", {.begin = 0, .stream = kLegacyStream, .object = 2});
  facts.call("cuMemsetD8_v2", {.begin = 20,
                               .stream = kLegacyStream,
                               .operands = {operand(kDevice, 64, kWrites | kWhole, MemoryKind::device)},
                               .transfer = transfer_of(MemoryKind::device, MemoryKind::unknown, 64)});
  return facts;
}

TEST(JudgeProcess, AnElapsedTimeNeedsItsEvents) {
  Facts facts = recorded_and_filled();
  facts.call("cuEventRecord", {.begin = 40, .stream = kLegacyStream, .object = 3});
  facts.call("cuEventSynchronize", {.begin = 60, .flags = kWaited, .object = 3});
  facts.call("cuEventElapsedTime", {.begin = 80, .object = 2, .stream2 = 3});
  EXPECT_NE(evidence(facts)[3].reasons, 0u);
}

TEST(JudgeProcess, AnElapsedTimeNeedsAWaitBehindTheRecord) {
  Facts facts = recorded_and_filled();
  facts.call("cuCtxSynchronize", {.begin = 30, .flags = kWaited});
  facts.call("cuEventRecord", {.begin = 40, .stream = kLegacyStream, .object = 3});
  facts.call("cuEventSynchronize", {.begin = 60, .flags = kWaited, .object = 3});
  facts.call("cuEventElapsedTime", {.begin = 80, .object = 2, .stream2 = 3});
  EXPECT_EQ(evidence(facts)[2].reasons, 0u);
  EXPECT_NE(evidence(facts)[4].reasons, 0u);
}

// The memory goes by other means than the driver, while the copy could have been under way.
// Nobody has used what the copy brought: the copy can go, and with it what the release conflicts with.
TEST(JudgeProcess, MemoryThatIsUnmappedUnreadNeedsNoWait) {
  Facts facts;
  facts.call("cuMemcpyDtoHAsync_v2", download(10)).watch(1, kHost, 64, 42);
  facts.call("cuCtxSynchronize", {.begin = 30, .after = 5, .flags = kWaited});
  facts.unwatch(1, 60, WatchEnd::released).memory_event(MemoryEvent::released, kHost, 4096, 60);
  EXPECT_EQ(evidence(facts)[1].reasons, 0u);
}

// The same in registered memory: the copy can go, too, but as long as it is made, it may come upon what malloc put there next.
TEST(JudgeProcess, RegisteredMemoryThatIsFreedUnreadNeedsItsWait) {
  Facts facts;
  facts.call("cuMemHostRegister_v2",
             {.begin = 0, .allocation = allocated(kHost - 4096, 65536, MemoryKind::registered)});
  facts.call("cuMemcpyDtoHAsync_v2", download(20)).watch(1, kHost, 64, 52);
  facts.call("cuCtxSynchronize", {.begin = 40, .after = 5, .flags = kWaited});
  facts.unwatch(1, 60, WatchEnd::released);
  const auto judged = evidence(facts);
  EXPECT_EQ(judged[1].unused, Unused::released);
  EXPECT_EQ(judged[2].reasons, uint32_t{kReleased});
  EXPECT_EQ(judged[2].after_ns, -1);  // it stays where it is
}

TEST(JudgeProcess, ReleasesAndAllocationsNeedNothing) {
  Facts facts;
  facts.call("cuMemAlloc_v2", {.begin = 0, .allocation = allocated(kDevice, 64)});
  facts.call("cuLaunchKernel",
             {.begin = 20,
              .stream = kLegacyStream,
              .operands = {operand(kDevice, 64, kReads | kWrites | kArgument, MemoryKind::device)},
              .list_flags = kHasKernel});
  facts.call("cuMemFree_v2", {.begin = 40, .flags = kWaited, .allocation = released(kDevice)});
  auto judged = evidence(facts);
  EXPECT_TRUE(judged[2].judged);
  EXPECT_EQ(judged[2].reasons, 0u);
}

// It has no verdict.
TEST(JudgeProcess, ACopyOfNoBytesIsNoWait) {
  Facts facts;
  facts.call("cuMemcpyDtoHAsync_v2", download(10));
  facts.call("cuMemcpyDtoH_v2", {.begin = 30,
                                 .stream = kLegacyStream,
                                 .transfer = transfer_of(MemoryKind::pinned, MemoryKind::device, 0)});
  facts.watch(1, kHost, 64, 62).call("cuCtxSynchronize", {.begin = 50, .after = 5, .flags = kWaited});
  auto judged = evidence(facts);
  EXPECT_FALSE(judged[1].judged);
}

// A process without CUDA, started before, reads at 60 what the wait covers; the next wait has nothing to do
// with it. Its records change nothing of which process is which.
TEST(JudgeProcess, ADownloadThatAnotherProcessReads) {
  for (int32_t reads : {100, 101}) {
    TemporaryFolder folder;
    Facts facts, reader;
    facts.call("cuMemcpyDtoHAsync_v2", download(10)).watch(1, kHost, 64, 42);
    facts.call("cuCtxSynchronize", {.begin = 30, .after = 5, .flags = kWaited});
    facts.call("cuCtxSynchronize", {.begin = 80, .flags = kWaited}).write(folder.path());
    reader.without_cuda(99).peer(reads, kHost + 8, 8, 60).write(folder.path());
    SiteTable sites;
    auto run = load_judged_run(folder.path(), sites);
    EXPECT_EQ(run->trace.missing, std::vector<std::string>{});
    ASSERT_EQ(run->processes.size(), 2u);
    const Process& process = run->processes.at(run->processes[0].trace->process.pid == 100 ? 0 : 1);
    EXPECT_EQ(process.identity, "-1/app/0");
    const auto& judged = process.threads.at(0).evidence;
    const bool concerned = reads == 100;
    EXPECT_EQ(judged[1].reasons, concerned ? kSharedMemory | kOtherThread : 0u);
    EXPECT_EQ(judged[2].reasons, 0u);
    EXPECT_EQ(judged[0].unused, concerned ? Unused::no : Unused::released);
    EXPECT_EQ(run->judgement.peers, concerned ? 1u : 0u);
    EXPECT_EQ(run->judgement.withdrawn, 0u);
  }
}

// A process of this host opens a file /proc/PID/mem, whose we do not know: from then on nothing counts as watched.
TEST(JudgeProcess, AFileByWhichMemoryIsReadUnseen) {
  for (int64_t opened_at : {60, 20}) {
    TemporaryFolder folder;
    Facts facts, opener;
    facts.call("cuMemcpyDtoHAsync_v2", download(10)).watch(1, kHost, 64, 42);
    facts.call("cuCtxSynchronize", {.begin = 30, .after = 5, .flags = kWaited});
    facts.call("cuCtxSynchronize", {.begin = 80, .flags = kWaited}).write(folder.path());
    opener.without_cuda(99).peer(PeerAccessRecord::kEveryProcess, 0, 0, opened_at).write(folder.path());
    SiteTable sites;
    auto run = load_judged_run(folder.path(), sites);
    ASSERT_EQ(run->processes.size(), 2u);
    const Process& process = run->processes.at(run->processes[0].trace->process.pid == 100 ? 0 : 1);
    EXPECT_NE(process.threads.at(0).evidence[1].reasons, 0u) << opened_at;
    EXPECT_EQ(process.threads.at(0).evidence[0].unused, Unused::no) << opened_at;
    EXPECT_EQ(run->judgement.files, 1u);
  }
}

// Who reads does not change what a copy from the same memory needs; who writes does.
TEST(JudgeProcess, ASourceThatAnotherProcessWrites) {
  for (Touching access : {Touching::reads, Touching::writes}) {
    Facts facts;
    facts.call("cuMemcpyHtoDAsync_v2",
               {.begin = 10,
                .stream = kLegacyStream,
                .operands = {operand(kDevice, 64, kWrites | kWhole, MemoryKind::device),
                             operand(kHost, 64, kReads, MemoryKind::pinned)},
                .transfer = transfer_of(MemoryKind::device, MemoryKind::pinned, 64)});
    facts.watch(1, kHost, 64, 42, WatchRefusal::none, WatchProtection::read_only);
    facts.call("cuCtxSynchronize", {.begin = 30, .after = 5, .flags = kWaited});
    facts.peer(100, kHost, 64, 60, access);
    EXPECT_EQ(evidence(facts)[1].reasons, access == Touching::writes ? kSharedMemory | kOtherThread : 0u);
  }
}

// One thread copies and waits, another reads behind a lock: an order by chance.
TEST(JudgeProcess, AResultThatIsHandedToAnotherThread) {
  Facts facts;
  facts.call("cuMemcpyDtoHAsync_v2", download(10)).watch(1, kHost, 64, 42);
  facts.call("cuCtxSynchronize", {.begin = 30, .after = 5, .flags = kWaited});
  facts.order(OrderObject::mutex, 0x77, 50, 0);
  facts.on(1).order(OrderObject::mutex, 0x77, 60, kAcquires).touch(1, 70).on(0);
  auto judged = evidence(facts);
  EXPECT_EQ(judged[1].reasons & kUnresolved, 0u);
  EXPECT_NE(judged[1].reasons & kOtherThread, 0u);
}

// 80,000 copies to places of their own, none waited for: more than the check keeps of one memory. Checked beside, the
// verdicts do not hold, and the report is made again with the check first, which says what it left out.
TEST(JudgeProcess, VerdictsThatAreCheckedBesideWhatFollows) {
  for (const int copies : {10, 80'000}) {
    Facts facts;
    for (int i = 0; i < copies; ++i) {
      CallFacts copy = download(10 + 20 * i);
      copy.operands = {operand(kDevice + 64 * i, 64, kReads, MemoryKind::device),
                       operand(kHost + 64 * i, 64, kWrites | kWhole, MemoryKind::pinned)};
      facts.call("cuMemcpyDtoHAsync_v2", copy);
    }
    TemporaryFolder folder;
    facts.write(folder.path() / "tracing");
    facts.write(folder.path() / "memory-tracing");
    SiteTable sites;
    auto first = load_judged_run(folder.path() / "memory-tracing", sites);
    auto beside = load_judged_run(folder.path() / "memory-tracing", sites, {.check = Check::beside});
    const bool left_out = copies > 10;
    EXPECT_EQ(first->judgement.unchecked > 0, left_out);
    EXPECT_FALSE(first->verdicts_hold.valid());
    EXPECT_EQ(beside->verdicts_hold.get(), !left_out);

    ASSERT_TRUE(write_session(folder.path(), Session{}).ok());
    auto report = analyse(folder.path());
    ASSERT_TRUE(report.ok()) << report.error().c_str();
    const bool said =
        std::any_of(report->notices.begin(), report->notices.end(), [](const ReportNotice& notice) {
          return notice.text.find("left out of the check") != std::string::npos;
        });
    EXPECT_EQ(said, left_out);
  }
}

// A kernel may find the address of pinned memory that no call names, as long as there is such memory.
TEST(JudgeProcess, AWaitForKernelsSaysThatMemoryIsThereWhichNoCallNames) {
  const auto launch = [](int64_t begin) {
    return CallFacts{.begin = begin,
                     .stream = kLegacyStream,
                     .operands = {operand(kDevice, 64, kReads | kWrites | kArgument, MemoryKind::device)},
                     .list_flags = kHasKernel};
  };
  const auto wait = [](int64_t begin) { return CallFacts{.begin = begin, .flags = kWaited}; };
  Facts facts;
  facts.call("cuMemAllocHost_v2", {.begin = 0, .allocation = allocated(kHost, 64, MemoryKind::pinned)});
  facts.call("cuLaunchKernel", launch(20)).call("cuCtxSynchronize", wait(40));
  facts.call("cuCtxSynchronize", wait(60));  // the kernel is known to be done
  Facts named = facts;
  named.call("cuMemcpyDtoHAsync_v2", download(80));
  facts.call("cuMemFreeHost", {.begin = 80, .allocation = released(kHost, MemoryKind::pinned)});
  facts.call("cuLaunchKernel", launch(100)).call("cuCtxSynchronize", wait(120));
  const auto judged = evidence(facts);
  EXPECT_EQ(judged[2].reasons, 0u);
  EXPECT_EQ(judged[2].conditions, kConditionArguments);
  EXPECT_EQ(judged[3].conditions, 0);
  EXPECT_EQ(judged[6].conditions, 0);
  EXPECT_EQ(evidence(named)[2].conditions, 0);
}

// Of copies that the agent does not search, all of the program's findings say so.
TEST(JudgeProcess, LargeCopiesToTheDeviceAreSaidWhereThereIsPinnedMemory) {
  const auto upload = [](int64_t begin, uint64_t bytes) {
    return CallFacts{.begin = begin,
                     .stream = kLegacyStream,
                     .operands = {operand(kDevice, bytes, kWrites | kWhole, MemoryKind::device)},
                     .transfer = transfer_of(MemoryKind::device, MemoryKind::pageable, bytes)};
  };
  Facts facts;
  facts.call("cuMemcpyHtoD_v2", upload(0, kMostSearched))
      .call("cuMemcpyHtoD_v2", upload(20, kMostSearched + 1));
  const auto said = [&] {
    TemporaryFolder folder;
    facts.write(folder.path());
    SiteTable sites;
    auto run = load_run(folder.path(), sites, Load::evidence);
    std::vector<ReportNotice> notices;
    not_searched_notice(*run, notices);
    return notices.empty() ? "" : notices[0].text.substr(0, 25);
  };
  EXPECT_EQ(said(), "");
  facts.call("cuMemAllocHost_v2", {.begin = 40, .allocation = allocated(kHost, 64, MemoryKind::pinned)});
  EXPECT_EQ(said(), "1 copy to the device was ");
}

}  // namespace
}  // namespace diogenes::necessity
