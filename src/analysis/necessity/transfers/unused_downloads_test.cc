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
  facts.ends(ProcessEnd::running);
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

// Large data is watched in parts: here in two halves.
struct InParts : ::testing::Test, Program {
  static constexpr uint64_t kHalf = kBytes / 2;
  void watch_halves(uint64_t memory, int64_t at) {
    facts.watch(++watches, memory, kHalf, at);
    facts.watch(++watches, memory + kHalf, kHalf, at);
  }
  uint32_t download_halves() {
    watch_halves(kHost, now + 12);
    return download_unwatched();
  }
  uint8_t unused_percent(uint32_t operation) { return judged().at(operation).unused_percent; }
};

TEST_F(InParts, OneHalfIsLookedAt) {
  const uint32_t copy = download_halves();
  facts.touch(watches, now);
  facts.unwatch(watches - 1, now + 1, WatchEnd::released);
  EXPECT_EQ(unused(copy), Unused::no);
  EXPECT_EQ(unused_percent(copy), 50);
}

TEST_F(InParts, BothAreLookedAt) {
  const uint32_t copy = download_halves();
  facts.touch(watches, now);
  facts.touch(watches - 1, now + 1);
  EXPECT_EQ(unused(copy), Unused::no);
  EXPECT_EQ(unused_percent(copy), 0);
}

TEST_F(InParts, NeitherIsLookedAt) {
  const uint32_t copy = download_halves();
  facts.unwatch(watches - 1, now + 1);
  facts.unwatch(watches, now + 1);
  download();
  EXPECT_EQ(unused(copy), Unused::overwritten);
  EXPECT_EQ(unused_percent(copy), 0);
}

// One half alone is watched: somebody may have looked at the other.
TEST_F(InParts, HalfIsNotWatched) {
  facts.watch(++watches, kHost, kHalf, now + 12);
  const uint32_t copy = download_unwatched();
  facts.unwatch(watches, now + 1, WatchEnd::released);
  EXPECT_EQ(unused(copy), Unused::no);
  EXPECT_EQ(unused_percent(copy), 50);
}

// The first half's guard stays up from one copy to the next, since nobody touches it.
TEST_F(InParts, AWatchStandsOverSeveralCopies) {
  std::vector<uint32_t> copies;
  for (int i = 0; i < 3; ++i) {
    copies.push_back(download_async(kX));
    if (i == 0)
      watch_halves(kPinned, now + 12);
    else
      facts.watch(++watches, kPinned + kHalf, kHalf, now + 12);
    synchronize(kX);
    facts.touch(watches, now);
    now += 5;
  }
  for (const uint32_t copy : copies) {
    EXPECT_EQ(unused(copy), Unused::no);
    EXPECT_EQ(unused_percent(copy), 50);
  }
}

// Quarters, of which one is touched each time; the guards of all come down for the call that copies, and go up again behind it.
TEST_F(InParts, GuardsComeDownForTheNextCopy) {
  constexpr uint64_t kQuarter = kBytes / 4;
  const auto watch_quarters = [&](int first, int64_t at) {
    for (int i = first; i < 4; ++i)
      facts.watch(++watches, kPinned + static_cast<uint64_t>(i) * kQuarter, kQuarter, at);
  };
  const uint32_t first = download_async(kX);
  watch_quarters(0, now + 12);
  synchronize(kX);
  facts.touch(watches - 3, now);
  now += 5;
  for (uint32_t i = 0; i < 3; ++i) facts.unwatch(watches - i, now + 1);
  watch_quarters(1, now + 12);
  const uint32_t second = download_async(kX);
  facts.watch(++watches, kPinned, kQuarter, now + 12);
  synchronize(kX);
  facts.touch(watches, now);
  EXPECT_EQ(unused_percent(first), 75);
  EXPECT_EQ(unused_percent(second), 75);
}

// Who looks at the first half while the second copy is under way may wait for what it brings by looking.
TEST_F(InParts, LookedAtWhileACopyIsUnderWay) {
  const uint32_t first = download_async(kX);
  watch_halves(kPinned, now + 12);
  synchronize(kX);
  facts.touch(watches, now);
  now += 5;
  const uint32_t second = download_async(kX);
  facts.touch(watches - 1, now);
  now += 5;
  watch_halves(kPinned, now + 12);
  synchronize(kX);
  EXPECT_EQ(unused_percent(first), 50);
  EXPECT_EQ(unused(second), Unused::no);
  EXPECT_EQ(unused_percent(second), 0);
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
  // What the copy brought, and whether its destination held that already.
  void brought(uint32_t copy, uint64_t content, Held held = Held::unknown) {
    facts.hash(0, copy, content, held);
  }
  void same(uint32_t first, uint32_t second) {
    brought(first, 7);
    brought(second, 7, Held::same);
  }
  uint32_t upload_to_other() {
    return call("cuMemcpyHtoD_v2",
                {.flags = kWaited,
                 .stream = kLegacyStream,
                 .operands = {operand(kOther, kBytes, kWrites | kWhole, MemoryKind::device),
                              operand(kHost, kBytes, kReads | kByCall, MemoryKind::pageable)},
                 .transfer = transfer_of(MemoryKind::device, MemoryKind::pageable, kBytes)});
  }
};

TEST_F(Duplicates, ToTheDevice) {
  auto first = upload(), second = upload();
  same(first, second);
  EXPECT_EQ(duplicate(first), Duplicate::none);
  EXPECT_EQ(duplicate(second), Duplicate::verified);
  EXPECT_EQ(judged()[second].first.sequence, first);
}

TEST_F(Duplicates, OfOtherContent) {
  auto first = upload(), second = upload();
  brought(first, 7);
  brought(second, 8, Held::same);
  EXPECT_EQ(duplicate(second), Duplicate::none);
}

TEST_F(Duplicates, ToADestinationThatAKernelHasChanged) {
  auto first = upload();
  launch(kLegacyStream, kDevice);
  auto second = upload();
  brought(first, 7);
  brought(second, 7, Held::other);
  EXPECT_EQ(duplicate(second), Duplicate::none);
}

// The source was read while the GPU may still have written it: what went is not known.
TEST_F(Duplicates, OfASourceThatIsStillBeingWritten) {
  auto first = upload_async(kX);
  synchronize(kX);
  download_async(kX);
  auto second = upload_async(kX);
  same(first, second);
  EXPECT_EQ(duplicate(second), Duplicate::none);
}

// Pageable memory is out of reach for a kernel that runs meanwhile, but not for a host function.
TEST_F(Duplicates, OfPageableMemoryBesideAKernelThatReachesAnyOther) {
  auto first = upload();
  launch_anything(kX);
  auto second = upload();
  same(first, second);
  EXPECT_EQ(duplicate(second), Duplicate::verified);
}

TEST_F(Duplicates, OfPageableMemoryBesideAHostFunction) {
  auto first = upload();
  call("cuLaunchHostFunc", {.stream = kX, .list_flags = kRunsOnHost | kAnyDevice | kAnyHost | kAnyPageable});
  auto second = upload();
  same(first, second);
  EXPECT_EQ(duplicate(second), Duplicate::none);
}

// Its readers are ordered behind their own stream's copy only.
TEST_F(Duplicates, InAnotherStreamThanItsOriginal) {
  auto first = upload_async(kX), second = upload_async(kY);
  same(first, second);
  EXPECT_EQ(duplicate(second), Duplicate::none);
}

TEST_F(Duplicates, InAnotherStreamBehindItsOriginal) {
  auto first = upload_async(kX);
  synchronize(kX);
  auto second = upload_async(kY);
  same(first, second);
  EXPECT_EQ(duplicate(second), Duplicate::verified);
}

TEST_F(Duplicates, ToTwoPlaces) {
  auto first = upload(), second = upload_to_other();
  brought(first, 7);
  brought(second, 7);
  EXPECT_EQ(duplicate(second), Duplicate::elsewhere);
  EXPECT_EQ(judged()[second].first.sequence, first);
}

TEST_F(Duplicates, ToTheHost) {
  auto first = download_unwatched(), second = download_unwatched();
  same(first, second);
  EXPECT_EQ(duplicate(second), Duplicate::verified);
}

// Somebody has written the source whom nobody saw.
TEST_F(Duplicates, ToTheHostBehindACopyThatBroughtOtherContent) {
  auto first = download_unwatched(), between = download_unwatched(), second = download_unwatched();
  brought(first, 7);
  brought(between, 8, Held::other);
  brought(second, 7, Held::same);
  EXPECT_EQ(duplicate(second), Duplicate::none);
}

// The last that was recorded of a copy counts.
TEST_F(Duplicates, RecordedInAnyOrder) {
  auto first = upload(), second = upload(), third = upload();
  brought(third, 8, Held::same);
  brought(second, 9, Held::other);
  brought(first, 7);
  brought(second, 7, Held::same);
  EXPECT_EQ(duplicate(second), Duplicate::verified);
  EXPECT_EQ(duplicate(third), Duplicate::none);
}

// The program may have written it.
TEST_F(Duplicates, ToADestinationOnTheHostThatHeldOthers) {
  auto first = download_unwatched(), second = download_unwatched();
  brought(first, 7);
  brought(second, 7, Held::other);
  EXPECT_EQ(duplicate(second), Duplicate::none);
}

// A result that had the same value. The third repeats the second.
TEST_F(Duplicates, ToTheHostBehindWorkThatWroteTheSource) {
  auto first = download_unwatched();
  launch(kLegacyStream, kDevice);
  auto second = download_unwatched(), third = download_unwatched();
  same(first, second);
  brought(third, 7, Held::same);
  EXPECT_EQ(duplicate(second), Duplicate::none);
  EXPECT_EQ(duplicate(third), Duplicate::verified);
  EXPECT_EQ(judged()[third].first.sequence, second);
}

TEST_F(Duplicates, ToTheHostBesideAKernelThatMayWriteTheSource) {
  launch(kX, kDevice);
  auto first = download_unwatched(), second = download_unwatched();
  same(first, second);
  EXPECT_EQ(duplicate(second), Duplicate::none);
}

TEST_F(Duplicates, RoundTrips) {
  auto down = download_unwatched(), back = upload(), elsewhere = upload_to_other();
  same(down, back);
  brought(elsewhere, 7);
  EXPECT_EQ(duplicate(back), Duplicate::returned_held);
  EXPECT_EQ(judged()[back].first.sequence, down);
  EXPECT_EQ(duplicate(elsewhere), Duplicate::returned);
}

}  // namespace
}  // namespace diogenes::necessity
