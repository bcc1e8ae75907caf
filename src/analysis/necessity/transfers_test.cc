// Data that nothing used: each way of losing it, and what must not be taken for one.
#include "analysis/necessity/transfers.h"

#include <gtest/gtest.h>

#include "analysis/necessity/testing/interpreted.h"

namespace diogenes::necessity {
namespace {

using namespace diogenes::testing;

constexpr uint64_t kDevice = 0x7000'0000, kOther = 0x7100'0000, kBytes = 8192;
constexpr uint64_t kHost = 0x10'0000, kPinned = 0x20'0000;
constexpr uint32_t kX = 2, kY = 3;  // non-blocking streams
constexpr uint32_t kEvent = 7;

// Calls of one thread, one after the other; each names the operation that it was.
struct Program {
  Facts facts;
  uint32_t operations = 0, watches = 0;
  int64_t now = 0;

  Program() {
    facts.stream(kX, kCertainStream).stream(kY, kCertainStream);
    call("cuMemAlloc_v2", {.allocation = allocated(kDevice, kBytes)});
    call("cuMemAlloc_v2", {.allocation = allocated(kOther, kBytes)});
    call("cuMemAllocHost_v2", {.allocation = allocated(kPinned, kBytes, MemoryKind::pinned)});
  }
  uint32_t call(const char* symbol, CallFacts facts_of_it) {
    facts_of_it.begin = now;
    facts_of_it.after = 5;
    facts.call(symbol, facts_of_it);
    now += 20;
    return operations++;
  }
  uint32_t upload(uint64_t bytes = kBytes) {
    return call("cuMemcpyHtoD_v2",
                {.flags = kWaited,
                 .stream = kLegacyStream,
                 .operands = {operand(kDevice, bytes, kWrites | kWhole, MemoryKind::device),
                              operand(kHost, bytes, kReads | kByCall, MemoryKind::pageable)},
                 .transfer = transfer_of(MemoryKind::device, MemoryKind::pageable, bytes)});
  }
  uint32_t upload_async(uint32_t stream) {
    return call("cuMemcpyHtoDAsync_v2",
                {.stream = stream,
                 .operands = {operand(kDevice, kBytes, kWrites | kWhole, MemoryKind::device),
                              operand(kPinned, kBytes, kReads, MemoryKind::pinned)},
                 .transfer = transfer_of(MemoryKind::device, MemoryKind::pinned, kBytes)});
  }
  // Watched when it returns.
  uint32_t download(uint64_t bytes = kBytes) {
    facts.watch(++watches, kHost, bytes, now + 12);
    return download_unwatched(bytes);
  }
  uint32_t download_unwatched(uint64_t bytes = kBytes) {
    return call("cuMemcpyDtoH_v2",
                {.flags = kWaited,
                 .stream = kLegacyStream,
                 .operands = {operand(kDevice, bytes, kReads, MemoryKind::device),
                              operand(kHost, bytes, kWrites | kWhole, MemoryKind::pageable)},
                 .transfer = transfer_of(MemoryKind::pageable, MemoryKind::device, bytes)});
  }
  uint32_t download_async(uint32_t stream) {
    return call("cuMemcpyDtoHAsync_v2",
                {.stream = stream,
                 .operands = {operand(kDevice, kBytes, kReads, MemoryKind::device),
                              operand(kPinned, kBytes, kWrites | kWhole, MemoryKind::pinned)},
                 .transfer = transfer_of(MemoryKind::pinned, MemoryKind::device, kBytes)});
  }
  // The guard comes down for the call that is about to use the memory.
  Program& lowered() {
    facts.unwatch(watches, now + 1);
    return *this;
  }
  void launch(uint32_t stream, uint64_t memory, MemoryKind kind = MemoryKind::device) {
    call("cuLaunchKernel", {.stream = stream,
                            .operands = {operand(memory, kBytes, kReads | kWrites | kArgument, kind)},
                            .list_flags = kHasKernel});
  }
  void launch_anything(uint32_t stream) {
    call("cuLaunchKernel", {.stream = stream, .list_flags = kHasKernel | kAnyDevice | kAnyHost});
  }
  void fill(uint64_t bytes = kBytes) {
    call("cuMemsetD8_v2", {.stream = kLegacyStream,
                           .operands = {operand(kDevice, bytes, kWrites | kWhole, MemoryKind::device)},
                           .transfer = transfer_of(MemoryKind::device, MemoryKind::unknown, bytes)});
  }
  uint32_t copy_to_other() {
    return call("cuMemcpyDtoD_v2",
                {.stream = kLegacyStream,
                 .operands = {operand(kDevice, kBytes, kReads, MemoryKind::device),
                              operand(kOther, kBytes, kWrites | kWhole, MemoryKind::device)},
                 .transfer = transfer_of(MemoryKind::device, MemoryKind::device, kBytes)});
  }
  uint32_t synchronize() { return call("cuCtxSynchronize", {.flags = kWaited}); }
  uint32_t synchronize(uint32_t stream) {
    return call("cuStreamSynchronize", {.flags = kWaited, .stream = stream});
  }
  uint32_t free(uint64_t memory = kDevice) {
    return call("cuMemFree_v2", {.flags = kWaited, .allocation = released(memory)});
  }

  // By operation.
  std::vector<Evidence> judged() {
    TemporaryFolder folder;
    facts.write(folder.path());
    SiteTable sites;
    auto run = load_run(folder.path(), sites, Load::evidence);
    Process& process = run->processes.at(0);
    TransferJudge judge(process, sites);
    Interpretation(process).replay(judge);
    note_findings(judge, process);
    return process.threads.at(0).evidence;
  }
  Unused unused(uint32_t operation) { return judged().at(operation).unused; }
  Duplicate duplicate(uint32_t operation) { return judged().at(operation).duplicate; }
};

struct Upload : ::testing::Test, Program {};

TEST_F(Upload, OverwrittenByAnotherCopy) {
  auto first = upload(), second = upload();
  launch(kLegacyStream, kDevice);
  synchronize();
  EXPECT_EQ(unused(first), Unused::overwritten);
  EXPECT_EQ(unused(second), Unused::no);
  EXPECT_EQ(judged()[first].lost_by.sequence, second);
  EXPECT_EQ(judged()[first].conditions, kConditionArguments);
}

TEST_F(Upload, OverwrittenByAFill) {
  auto copy = upload();
  fill();
  synchronize();
  EXPECT_EQ(unused(copy), Unused::overwritten);
  EXPECT_EQ(judged()[copy].conditions, 0);
}

TEST_F(Upload, Released) {
  auto copy = upload(), release = free();
  EXPECT_EQ(unused(copy), Unused::released);
  EXPECT_EQ(judged()[copy].lost_by.sequence, release);
}

TEST_F(Upload, AnyKernelMayHaveReadIt) {
  auto copy = upload();
  launch_anything(kX);
  upload();
  free();
  EXPECT_EQ(unused(copy), Unused::no);
}

TEST_F(Upload, KernelsReadWhatTheyAreGiven) {
  auto given = upload();
  launch(kX, kDevice);
  synchronize(kX);
  auto beside = upload();
  launch(kX, kOther);
  upload();
  synchronize();
  EXPECT_EQ(unused(given), Unused::no);
  EXPECT_EQ(unused(beside), Unused::overwritten);
  EXPECT_EQ(judged()[beside].conditions, kConditionArguments);
}

// A kernel of another stream that runs already: only what it was given counts.
TEST_F(Upload, BesideARunningKernelThatHasItOrNot) {
  launch(kX, kDevice);
  auto beside = upload();
  upload();
  synchronize(kX);
  launch(kX, kOther);
  auto apart = upload();
  upload();
  synchronize();
  EXPECT_EQ(unused(beside), Unused::no);
  EXPECT_EQ(unused(apart), Unused::overwritten);
}

TEST_F(Upload, CopiedFromThere) {
  auto on_device = upload();
  copy_to_other();
  auto to_host = upload();
  download_unwatched(16);
  auto unrelated = upload();
  free();
  EXPECT_EQ(unused(on_device), Unused::no);
  EXPECT_EQ(unused(to_host), Unused::no);
  EXPECT_EQ(unused(unrelated), Unused::released);
}

TEST_F(Upload, OverwrittenInPartIsStillThere) {
  auto copy = upload();
  fill(kBytes - 1);
  synchronize();
  EXPECT_EQ(unused(copy), Unused::no);
}

// The overwriting copy is on its way when a kernel starts on another stream: it may be earlier.
TEST_F(Upload, KernelThatMayRunBeforeTheOverwriting) {
  auto first = upload_async(kX);
  upload_async(kX);
  launch(kY, kDevice);
  synchronize(kX);
  synchronize(kY);
  EXPECT_EQ(unused(first), Unused::no);
}

TEST_F(Upload, KernelBehindTheOverwriting) {
  auto first = upload_async(kX);
  upload_async(kX);
  call("cuEventRecord", {.stream = kX, .object = kEvent});
  call("cuStreamWaitEvent", {.stream = kY, .object = kEvent});
  launch(kY, kDevice);
  synchronize(kX);
  EXPECT_EQ(unused(first), Unused::overwritten);
}

TEST_F(Upload, TwoCopiesInNoOrder) {
  auto first = upload_async(kX);
  upload_async(kY);
  synchronize(kX);
  synchronize(kY);
  EXPECT_EQ(unused(first), Unused::no);
}

TEST_F(Upload, NeverKnownToBeOverwritten) {
  auto first = upload_async(kX);
  upload_async(kX);
  EXPECT_EQ(unused(first), Unused::no);
}

TEST_F(Upload, MemoryThatOtherProcessesReach) {
  auto copy = upload();
  call("cuIpcGetMemHandle", {.call_flags = kShares});
  upload();
  upload();
  free();
  for (const Evidence& each : judged()) EXPECT_EQ(each.unused, Unused::no);
  (void)copy;
}

TEST_F(Upload, ReleasedInTheStreamsOrder) {
  constexpr uint64_t kPool = 0x7200'0000;
  call("cuMemAllocAsync", {.stream = kX, .call_flags = kGivesWork, .allocation = allocated(kPool, kBytes)});
  auto copy =
      call("cuMemcpyHtoDAsync_v2", {.stream = kX,
                                    .operands = {operand(kPool, kBytes, kWrites | kWhole, MemoryKind::device),
                                                 operand(kPinned, kBytes, kReads, MemoryKind::pinned)},
                                    .transfer = transfer_of(MemoryKind::device, MemoryKind::pinned, kBytes)});
  call("cuMemFreeAsync", {.stream = kX, .call_flags = kGivesWork, .allocation = released(kPool)});
  synchronize(kX);
  EXPECT_EQ(unused(copy), Unused::overwritten);
}

TEST_F(Upload, ToMemoryThatNobodyWasSeenToAllocate) {
  free();
  auto copy = upload();
  upload();
  synchronize();
  EXPECT_EQ(unused(copy), Unused::no);
}

TEST_F(Upload, ToManagedMemory) {
  constexpr uint64_t kManaged = 0x30'0000;
  call("cuMemAllocManaged", {.allocation = allocated(kManaged, kBytes, MemoryKind::managed)});
  CallFacts copy{.flags = kWaited,
                 .stream = kLegacyStream,
                 .operands = {operand(kManaged, kBytes, kWrites | kWhole, MemoryKind::managed)},
                 .transfer = transfer_of(MemoryKind::managed, MemoryKind::pageable, kBytes)};
  auto first = call("cuMemcpyHtoD_v2", copy);
  call("cuMemcpyHtoD_v2", copy);
  synchronize();
  EXPECT_EQ(unused(first), Unused::no);
}

struct Memory : ::testing::Test, Program {};

TEST_F(Memory, ReleasedWithoutAnyAccess) {
  upload();
  auto release = free(kOther);
  auto all = judged();
  EXPECT_EQ(all[1].unused, Unused::released);
  EXPECT_EQ(all[1].lost_by.sequence, release);
  EXPECT_EQ(all[0].unused, Unused::no);
}

TEST_F(Memory, WrittenOrWithinReachOfAKernel) {
  fill(8);
  launch_anything(kX);
  free(kDevice);
  free(kOther);
  auto all = judged();
  EXPECT_EQ(all[0].unused, Unused::no);
  EXPECT_EQ(all[1].unused, Unused::no);
}

TEST_F(Memory, MadeWhileAKernelRuns) {
  constexpr uint64_t kNew = 0x7300'0000;
  launch_anything(kX);
  auto made = call("cuMemAlloc_v2", {.allocation = allocated(kNew, kBytes)});
  free(kNew);
  EXPECT_EQ(unused(made), Unused::no);
}

struct Download : ::testing::Test, Program {};

TEST_F(Download, OverwrittenByTheNextOne) {
  auto first = download();
  lowered();
  auto second = download();
  facts.touch(watches, now);
  EXPECT_EQ(unused(first), Unused::overwritten);
  EXPECT_EQ(unused(second), Unused::no);
  EXPECT_EQ(judged()[first].lost_by.sequence, second);
}

TEST_F(Download, ReleasedUnread) {
  auto copy = download();
  facts.unwatch(watches, now, WatchEnd::released);
  EXPECT_EQ(unused(copy), Unused::released);
}

TEST_F(Download, PinnedMemoryReleasedUnread) {
  auto copy = download_async(kX);
  facts.watch(1, kPinned, kBytes, now + 12);
  synchronize(kX);
  facts.unwatch(1, now + 1);
  auto release =
      call("cuMemFreeHost", {.flags = kWaited, .allocation = released(kPinned, MemoryKind::pinned)});
  EXPECT_EQ(unused(copy), Unused::released);
  EXPECT_EQ(judged()[copy].lost_by.sequence, release);
}

TEST_F(Download, NobodyTouchedItUntilTheEnd) {
  auto copy = download();
  EXPECT_EQ(unused(copy), Unused::released);
  facts.ends(ProcessEnd::signal);
  EXPECT_EQ(unused(copy), Unused::no);
}

TEST_F(Download, NotWatched) {
  auto first = download_unwatched();
  download();
  EXPECT_EQ(unused(first), Unused::no);
}

TEST_F(Download, WatchedForWritingOnly) {
  facts.watch(1, kHost, kBytes, now + 12, {}, WatchProtection::read_only);
  auto copy = download_unwatched();
  EXPECT_EQ(unused(copy), Unused::no);
}

TEST_F(Download, LetGoOrTouchedByAnybody) {
  for (bool touched : {true, false}) {
    Program program;
    auto copy = program.download();
    touched ? program.facts.touch(program.watches, program.now, Touching::unknown, Toucher::driver)
            : program.facts.unwatch(program.watches, program.now, WatchEnd::given_up);
    program.download();
    EXPECT_EQ(program.unused(copy), Unused::no);
  }
}

TEST_F(Download, LoweredAndNotRaisedAgain) {
  auto copy = download();
  lowered();
  synchronize();
  download();
  EXPECT_EQ(unused(copy), Unused::no);
}

TEST_F(Download, SentBackOrOverwrittenInPart) {
  auto back = download();
  lowered();
  upload(16);
  auto part = download();
  lowered();
  download(kBytes - 4096);
  download();
  EXPECT_EQ(unused(back), Unused::no);
  EXPECT_EQ(unused(part), Unused::no);
}

TEST_F(Download, CopiesInNoOrder) {
  auto first = download_async(kX);
  download_async(kY);
  synchronize();
  EXPECT_EQ(unused(first), Unused::no);
}

// Nobody can have known that the first one was there.
TEST_F(Download, OverwrittenBeforeAnybodyWaited) {
  auto first = download_async(kX);
  download_async(kX);
  synchronize();
  EXPECT_EQ(unused(first), Unused::overwritten);
}

TEST_F(Download, AQueryTellsThatItIsThere) {
  auto first = download_async(kX);
  call("cuStreamQuery", {.stream = kX});
  download_async(kX);
  EXPECT_EQ(unused(first), Unused::no);
}

TEST_F(Download, WithinReachOfAKernel) {
  auto copy = download_async(kX);
  facts.watch(1, kPinned, kBytes, now + 12);
  synchronize(kX);
  launch(kX, kPinned, MemoryKind::pinned);
  synchronize(kX);
  EXPECT_EQ(unused(copy), Unused::no);
}

TEST_F(Download, WorkThatMayReadAnything) {
  auto copy = download();
  launch_anything(kX);
  synchronize(kX);
  EXPECT_EQ(unused(copy), Unused::no);
}

struct InUse : ::testing::Test, Program {
  uint32_t free_pinned() {
    return call("cuMemFreeHost", {.flags = kWaited, .allocation = released(kPinned, MemoryKind::pinned)});
  }
};

TEST_F(InUse, ReleasedUnderACopy) {
  download_async(kX);
  auto release = free_pinned();
  EXPECT_EQ(judged()[release].conditions & kConditionInUse, kConditionInUse);
}

TEST_F(InUse, ReleasedBehindACopy) {
  upload_async(kX);
  synchronize(kX);
  auto release = free_pinned();
  EXPECT_EQ(judged()[release].conditions & kConditionInUse, 0);
}

TEST_F(InUse, UnregisteredUnderACopy) {
  call("cuMemHostRegister_v2", {.allocation = allocated(kHost, kBytes, MemoryKind::registered)});
  CallFacts copy{.stream = kX,
                 .operands = {operand(kDevice, 64, kReads, MemoryKind::device),
                              operand(kHost, 64, kWrites | kWhole, MemoryKind::registered)},
                 .transfer = transfer_of(MemoryKind::registered, MemoryKind::device, 64)};
  call("cuMemcpyDtoHAsync_v2", copy);
  auto release =
      call("cuMemHostUnregister", {.flags = kWaited, .allocation = released(kHost, MemoryKind::registered)});
  EXPECT_EQ(judged()[release].conditions & kConditionInUse, kConditionInUse);
}

struct Duplicates : ::testing::Test, Program {
  void repeats(uint32_t second, uint32_t first, Duplicate how = Duplicate::verified) {
    facts.hash(0, second, how, {0, 0, first});
  }
};

TEST_F(Duplicates, ToTheDevice) {
  auto first = upload(), second = upload();
  repeats(second, first);
  EXPECT_EQ(duplicate(second), Duplicate::verified);
}

// Its readers are ordered behind their own stream's copy only.
TEST_F(Duplicates, InAnotherStreamThanItsOriginal) {
  auto first = upload_async(kX), second = upload_async(kY);
  repeats(second, first);
  EXPECT_EQ(duplicate(second), Duplicate::unverified);
}

TEST_F(Duplicates, InAnotherStreamBehindItsOriginal) {
  auto first = upload_async(kX);
  synchronize(kX);
  auto second = upload_async(kY);
  repeats(second, first);
  EXPECT_EQ(duplicate(second), Duplicate::verified);
}

TEST_F(Duplicates, ToTheHost) {
  auto first = download_unwatched(), second = download_unwatched();
  repeats(second, first);
  EXPECT_EQ(duplicate(second), Duplicate::verified);
}

// A result that had the same value.
TEST_F(Duplicates, ToTheHostBehindWorkThatWroteTheSource) {
  auto first = download_unwatched();
  launch(kLegacyStream, kDevice);
  auto second = download_unwatched();
  repeats(second, first);
  EXPECT_EQ(duplicate(second), Duplicate::none);
}

TEST_F(Duplicates, ToTheHostBesideAKernelThatMayWriteTheSource) {
  launch(kX, kDevice);
  auto first = download_unwatched(), second = download_unwatched();
  repeats(second, first);
  EXPECT_EQ(duplicate(second), Duplicate::none);
}

TEST_F(Duplicates, RoundTripsAreWhatTheHashesSay) {
  auto down = download_unwatched(), up = upload();
  repeats(up, down, Duplicate::returned_held);
  EXPECT_EQ(duplicate(up), Duplicate::returned_held);
}

}  // namespace
}  // namespace diogenes::necessity
