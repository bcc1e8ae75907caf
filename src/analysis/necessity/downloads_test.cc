// Copies to the host that nobody used, releases under a copy, and which duplicates hold.
#include <gtest/gtest.h>

#include "analysis/necessity/testing/copying_program.h"

namespace diogenes::necessity {
namespace {

using namespace testing;

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
