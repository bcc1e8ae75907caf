// Duplicate transfers: each kind, and what must not be taken for one.
#include <gtest/gtest.h>

#include <cstring>

#include "agent/necessity/testing/timeline.h"
#include "agent/necessity/transfers/content.h"

namespace diogenes::agent::testing {
namespace {

constexpr uint64_t kX = 0x1000;
constexpr uint64_t kBytes = 8192;

struct Duplicates : ::testing::Test {
  Timeline t;
  void SetUp() override { t.stream(kX, CU_STREAM_NON_BLOCKING); }
  Duplicate of(Operation operation) {
    auto hash = t.hash(operation);
    EXPECT_TRUE(hash) << "no hash of operation " << operation;
    return hash ? hash->duplicate : static_cast<Duplicate>(99);
  }
  uint32_t first_of(Operation operation) { return t.hash(operation)->first.sequence; }
};

TEST_F(Duplicates, SameContentToTheSamePlaceThatStillHoldsIt) {
  uint64_t device = t.device(kBytes);
  char* host = static_cast<char*>(t.pageable(kBytes));
  memset(host, 1, kBytes);
  auto first = t.h2d(device, host, kBytes);
  auto second = t.h2d(device, host, kBytes);
  auto third = t.h2d(device, host, kBytes);
  t.synchronize(kLegacy);
  EXPECT_EQ(of(first), Duplicate::none);
  EXPECT_EQ(of(second), Duplicate::verified);
  EXPECT_EQ(of(third), Duplicate::verified);
  EXPECT_EQ(first_of(first), first);
  EXPECT_EQ(first_of(second), first);
  EXPECT_EQ(first_of(third), first);
}

// The second copy's own wait covers the reading back that went before it.
TEST_F(Duplicates, KnownWithTheCopysOwnWait) {
  uint64_t device = t.device(kBytes);
  void* host = t.pageable(kBytes);
  t.h2d(device, host, kBytes);
  auto second = t.h2d(device, host, kBytes);
  ASSERT_EQ(world().hashes.size(), 2u);
  EXPECT_EQ(of(second), Duplicate::verified);
}

TEST_F(Duplicates, DestinationWasOverwrittenByAKernel) {
  uint64_t device = t.device(kBytes);
  char* host = static_cast<char*>(t.pageable(kBytes));
  memset(host, 1, kBytes);
  t.h2d(device, host, kBytes);
  reinterpret_cast<char*>(device)[17] = 5;
  auto second = t.h2d(device, host, kBytes);
  t.synchronize(kLegacy);
  EXPECT_EQ(of(second), Duplicate::overwritten);
}

TEST_F(Duplicates, OtherContentOrSizeIsNone) {
  uint64_t device = t.device(2 * kBytes);
  char* host = static_cast<char*>(t.pageable(2 * kBytes));
  t.h2d(device, host, kBytes);
  auto size = t.h2d(device, host, kBytes / 2);
  host[0] = 1;
  auto content = t.h2d(device, host, kBytes);
  t.synchronize(kLegacy);
  EXPECT_EQ(of(size), Duplicate::none);
  EXPECT_EQ(of(content), Duplicate::none);
}

TEST_F(Duplicates, AsynchronousFromPinned) {
  uint64_t device = t.device(kBytes);
  void* host = t.pinned(kBytes);
  auto first = t.h2d_async(device, host, kBytes, kX);
  auto second = t.h2d_async(device, host, kBytes, kX);
  EXPECT_EQ(world().hashes.size(), 1u);  // the second is not known before it is covered
  t.synchronize(kLegacy);
  EXPECT_EQ(world().hashes.size(), 1u);  // another stream
  t.synchronize(kX);
  EXPECT_EQ(of(first), Duplicate::none);
  EXPECT_EQ(of(second), Duplicate::verified);
}

TEST_F(Duplicates, NeverCoveredIsUnverified) {
  uint64_t device = t.device(kBytes);
  void* host = t.pinned(kBytes);
  t.h2d_async(device, host, kBytes, kX);
  auto second = t.h2d_async(device, host, kBytes, kX);
  EXPECT_EQ(of(second), Duplicate::unverified);
}

TEST_F(Duplicates, DestinationThatCannotBeReadBack) {
  void* host = t.pinned(kBytes);
  t.h2d_async(0x7000, host, kBytes, kX);
  auto second = t.h2d_async(0x7000, host, kBytes, kX);
  t.synchronize(kX);
  EXPECT_EQ(of(second), Duplicate::unverified);
}

TEST_F(Duplicates, NothingIsReadBackDuringACapture) {
  uint64_t device = t.device(kBytes);
  void* host = t.pinned(kBytes);
  t.h2d_async(device, host, kBytes, kX);
  t.call("cuStreamBeginCapture_v2", {0x9000, 0});
  int before = world().driver_calls_made;
  auto second = t.h2d_async(device, host, kBytes, kX);
  EXPECT_EQ(world().driver_calls_made, before);
  t.call("cuStreamEndCapture", {0x9000, 0}, false, 0, kCapturing);
  t.synchronize(kX);
  EXPECT_EQ(of(second), Duplicate::unverified);
}

TEST_F(Duplicates, CapturedCopiesHaveNoHash) {
  uint64_t device = t.device(kBytes);
  void* host = t.pinned(kBytes);
  auto copy = t.call("cuMemcpyHtoDAsync_v2", {device, t.address(host), kBytes, kX}, false, 0, kCapturing);
  EXPECT_FALSE(t.hash(copy));
}

TEST_F(Duplicates, FailedCopiesHaveNoHash) {
  uint64_t device = t.device(kBytes);
  void* host = t.pageable(kBytes);
  auto failed = t.call("cuMemcpyHtoD_v2", {device, t.address(host), kBytes}, true, 1);
  auto first = t.h2d(device, host, kBytes);
  EXPECT_FALSE(t.hash(failed));
  EXPECT_EQ(of(first), Duplicate::none);
}

TEST_F(Duplicates, StagingMemoryIsUsedAgain) {
  constexpr uint64_t kLarge = 24 << 20;  // two fit
  uint64_t device = t.device(kLarge);
  void* host = t.pinned(kLarge);
  t.h2d_async(device, host, kLarge, kX);
  for (int i = 0; i < 6; ++i) {
    auto copy = t.h2d_async(device, host, kLarge, kX);
    t.synchronize(kX);
    ASSERT_EQ(world().hashes.back().sequence, copy);
    EXPECT_EQ(world().hashes.back().duplicate, Duplicate::verified);
  }
  EXPECT_EQ(world().drops[Drop::verification_full], 0);
}

TEST_F(Duplicates, FullStagingMemoryIsSaid) {
  constexpr uint64_t kLarge = 24 << 20;
  uint64_t device = t.device(kLarge);
  void* host = t.pinned(kLarge);
  t.h2d_async(device, host, kLarge, kX);
  std::vector<Operation> copies;
  for (int i = 0; i < 4; ++i) copies.push_back(t.h2d_async(device, host, kLarge, kX));
  t.synchronize(kX);
  EXPECT_EQ(of(copies[0]), Duplicate::verified);
  EXPECT_EQ(of(copies[1]), Duplicate::verified);
  EXPECT_EQ(of(copies[2]), Duplicate::unverified);
  EXPECT_EQ(of(copies[3]), Duplicate::unverified);
  EXPECT_EQ(world().drops[Drop::verification_full], 2);
}

TEST_F(Duplicates, ToTheHost) {
  uint64_t device = t.device(kBytes);
  char* host = static_cast<char*>(t.pageable(kBytes));
  memset(reinterpret_cast<void*>(device), 3, kBytes);
  auto first = t.d2h(host, device, kBytes);
  auto second = t.d2h(host, device, kBytes);
  host[0] = 9;
  auto third = t.d2h(host, device, kBytes);
  EXPECT_EQ(of(first), Duplicate::none);
  EXPECT_EQ(of(second), Duplicate::verified);
  EXPECT_EQ(of(third), Duplicate::overwritten);
  EXPECT_EQ(first_of(third), first);
}

TEST_F(Duplicates, AsynchronousToTheHost) {
  uint64_t device = t.device(kBytes);
  void* host = t.pinned(kBytes);
  memset(reinterpret_cast<void*>(device), 3, kBytes);
  auto first = t.d2h_async(host, device, kBytes, kX);
  t.synchronize(kX);
  t.touch(host);  // where nobody reads it, it is not looked at
  auto second = t.d2h_async(host, device, kBytes, kX);
  t.synchronize(kX);
  EXPECT_EQ(of(first), Duplicate::none);
  EXPECT_EQ(of(second), Duplicate::verified);
}

// What the destination holds is not known while an earlier copy may still arrive there.
TEST_F(Duplicates, ToTheHostWhileAnotherCopyIsUnderWay) {
  uint64_t device = t.device(kBytes);
  void* host = t.pinned(kBytes);
  memset(reinterpret_cast<void*>(device), 3, kBytes);
  t.d2h_async(host, device, kBytes, kX);
  t.synchronize(kX);
  t.touch(host);
  t.d2h_async(host, device, kBytes, kX);
  auto third = t.d2h_async(host, device, kBytes, kX);
  t.synchronize(kX);
  EXPECT_EQ(of(third), Duplicate::unverified);
}

TEST_F(Duplicates, ReleasedBeforeItCouldBeHashed) {
  uint64_t device = t.device(kBytes);
  void* host = t.pinned(kBytes);
  auto copy = t.d2h_async(host, device, kBytes, kX);
  t.free_host(host);
  EXPECT_FALSE(t.hash(copy));
}

TEST_F(Duplicates, SentToAnotherPlaceBefore) {
  uint64_t one = t.device(kBytes), other = t.device(kBytes);
  char* host = static_cast<char*>(t.pageable(kBytes));
  memset(host, 1, kBytes);
  auto first = t.h2d(one, host, kBytes);
  auto second = t.h2d(other, host, kBytes);
  host[5] = 2;
  auto changed = t.h2d(other, host, kBytes);
  EXPECT_EQ(of(first), Duplicate::none);
  EXPECT_EQ(of(second), Duplicate::elsewhere);
  EXPECT_EQ(first_of(second), first);
  EXPECT_EQ(of(changed), Duplicate::none);
}

// Two buffers in turn, as frameworks have them: what the same buffer got last time is gone, but the other one
// got it, too.
TEST_F(Duplicates, OverwrittenHereButSentElsewhereToo) {
  uint64_t one = t.device(kBytes), other = t.device(kBytes);
  char* host = static_cast<char*>(t.pageable(kBytes));
  memset(host, 1, kBytes);
  t.h2d(one, host, kBytes);
  auto elsewhere = t.h2d(other, host, kBytes);
  memset(reinterpret_cast<void*>(one), 9, kBytes);
  auto again = t.h2d(one, host, kBytes);
  auto held = t.h2d(one, host, kBytes);
  EXPECT_EQ(of(again), Duplicate::elsewhere);
  EXPECT_EQ(first_of(again), elsewhere);
  EXPECT_EQ(of(held), Duplicate::verified);
}

TEST_F(Duplicates, AnotherContextsMemoryIsNoPlaceToCopyFrom) {
  uint64_t one = t.device(kBytes), other = t.device(kBytes);
  char* host = static_cast<char*>(t.pageable(kBytes));
  t.h2d(one, host, kBytes);
  t.context(0x200);
  auto second = t.h2d(other, host, kBytes);
  t.context(0x100);
  EXPECT_EQ(of(second), Duplicate::none);
}

TEST_F(Duplicates, DownAndUpAgainUnchanged) {
  uint64_t device = t.device(kBytes), other = t.device(kBytes);
  char* host = static_cast<char*>(t.pageable(kBytes));
  memset(reinterpret_cast<void*>(device), 3, kBytes);
  auto down = t.d2h(host, device, kBytes);
  auto held = t.h2d(device, host, kBytes);
  auto elsewhere = t.h2d(other, host, kBytes);
  EXPECT_EQ(of(held), Duplicate::returned_held);
  EXPECT_EQ(first_of(held), down);
  EXPECT_EQ(of(elsewhere), Duplicate::returned);
  EXPECT_EQ(first_of(elsewhere), down);
}

TEST_F(Duplicates, DownAndUpAgainButOneByteIsAnother) {
  uint64_t device = t.device(kBytes);
  char* host = static_cast<char*>(t.pageable(kBytes));
  memset(reinterpret_cast<void*>(device), 3, kBytes);
  t.d2h(host, device, kBytes);
  host[8191] = 4;
  auto up = t.h2d(device, host, kBytes);
  EXPECT_EQ(of(up), Duplicate::none);
}

TEST_F(Duplicates, DownAndUpAgainFromAnotherPlaceOfTheHost) {
  uint64_t device = t.device(kBytes);
  char *host = static_cast<char*>(t.pageable(kBytes)), *copy = static_cast<char*>(t.pageable(kBytes));
  memset(reinterpret_cast<void*>(device), 3, kBytes);
  t.d2h(host, device, kBytes);
  memcpy(copy, host, kBytes);
  auto up = t.h2d(device, copy, kBytes);
  EXPECT_EQ(of(up), Duplicate::none);
}

// The place where it came from was written since: the device has to keep a copy, and nothing can be left out.
TEST_F(Duplicates, ReturnedToAPlaceThatWasOverwritten) {
  uint64_t device = t.device(kBytes);
  char* host = static_cast<char*>(t.pageable(kBytes));
  memset(reinterpret_cast<void*>(device), 3, kBytes);
  t.d2h(host, device, kBytes);
  memset(reinterpret_cast<void*>(device), 4, kBytes);
  auto up = t.h2d(device, host, kBytes);
  EXPECT_EQ(of(up), Duplicate::returned);
}

TEST_F(Duplicates, AsynchronousRoundTrip) {
  uint64_t device = t.device(kBytes);
  void* host = t.pinned(kBytes);
  memset(reinterpret_cast<void*>(device), 3, kBytes);
  auto down = t.d2h_async(host, device, kBytes, kX);
  t.synchronize(kX);
  auto up = t.h2d_async(device, host, kBytes, kX);
  t.synchronize(kX);
  EXPECT_EQ(of(up), Duplicate::returned_held);
  EXPECT_EQ(first_of(up), down);
}

// The data comes from the host, and goes back to where it was: no duplicate of a copy to the device.
TEST_F(Duplicates, DirectionsAreKeptApart) {
  uint64_t device = t.device(kBytes);
  void* host = t.pageable(kBytes);
  t.h2d(device, host, kBytes);
  auto back = t.d2h(host, device, kBytes);
  EXPECT_EQ(of(back), Duplicate::none);
}

TEST_F(Duplicates, RowsAreHashedInOrder) {
  uint64_t device = t.device(kBytes);
  char* host = static_cast<char*>(t.pageable(kBytes));
  for (uint64_t i = 0; i < kBytes; ++i) host[i] = static_cast<char>(i / 64);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host;
  copy.srcPitch = 128;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.dstPitch = 64;
  copy.WidthInBytes = 64;
  copy.Height = 8;
  auto rows = t.call("cuMemcpy2D_v2", {t.address(&copy)}, true);
  char packed[512];
  for (int row = 0; row < 8; ++row) memcpy(packed + 64 * row, host + 128 * row, 64);
  Content expected = content_of({t.address(packed), sizeof packed, 1, sizeof packed});
  auto hash = t.hash(rows);
  ASSERT_TRUE(hash);
  EXPECT_EQ(hash->hash[0], expected.low);
  EXPECT_EQ(hash->hash[1], expected.high);
  Content read_through_the_kernel;
  ASSERT_TRUE(
      content_if_there({t.address(packed), sizeof packed, 1, sizeof packed}, &read_through_the_kernel));
  EXPECT_EQ(read_through_the_kernel, expected);
}

TEST_F(Duplicates, MemoryThatIsGoneIsNotRead) {
  Content content;
  EXPECT_FALSE(content_if_there({0x10000, 64, 1, 64}, &content));
}

// A guarded range of which a part goes back to the device is read only after its guard is down.
TEST_F(Duplicates, SourceUnderGuard) {
  uint64_t device = t.device(kBytes);
  void* host = t.pinned(kBytes);
  t.d2h_async(host, device, kBytes, kX);
  t.synchronize(kX);
  auto copy = t.h2d_async(device, host, kBytes / 2, kX);
  EXPECT_FALSE(t.guarded(host));
  EXPECT_TRUE(t.hash(copy));
}

}  // namespace
}  // namespace diogenes::agent::testing
