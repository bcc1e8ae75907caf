// What the GPU wrote to page-locked memory and fetches back in its own order: nobody needs to wait between
// the two, and the guard stays up for whoever touches the memory yet. Its content is known without a look.
#include <cstring>

#include "agent/necessity/testing/fixture.h"

namespace diogenes::agent::testing {
namespace {

struct FetchedBack : Necessity {
  uint64_t device, other;
  void* host;
  void SetUp() override {
    Necessity::SetUp();
    device = t.device(kBytes), other = t.device(kBytes);
    host = t.pinned(kBytes);
    memset(reinterpret_cast<void*>(device), 3, kBytes);
  }
  Operation down_and_wait() {
    t.d2h_async(host, device, kBytes, kX);
    return t.synchronize(kX);
  }
  Duplicate kind_of(Operation copy) {
    auto hash = t.hash(copy);
    EXPECT_TRUE(hash);
    return hash ? hash->duplicate : static_cast<Duplicate>(99);
  }
};

TEST_F(FetchedBack, InItsStream) {
  auto wait = down_and_wait();
  auto copy = t.h2d_async(device, host, kBytes, kX);
  EXPECT_TRUE(t.guarded(host));
  EXPECT_EQ(kind_of(copy), Duplicate::returned);  // never covered, so what the device holds is not known
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
}

TEST_F(FetchedBack, BehindAnEvent) {
  t.event(kE);
  t.d2h_async(host, device, kBytes, kX);
  t.record(kE, kX);
  auto wait = t.synchronize(kX);
  t.wait(kY, kE);
  t.h2d_async(device, host, kBytes, kY);
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
}

TEST_F(FetchedBack, ByABlockingCopyBehindABlockingCopy) {
  auto down = t.d2h(host, device, kBytes);
  t.h2d(other, host, kBytes);
  EXPECT_EQ(t.reasons(down), kNotNeeded);
}

// Nothing but the wait orders the two.
TEST_F(FetchedBack, InAnotherStream) {
  auto wait = down_and_wait();
  t.h2d_async(device, host, kBytes, kY);
  EXPECT_NE(t.reasons(wait), kNotNeeded);
}

// The driver's code may read small sources itself: it then meets the guard.
TEST_F(FetchedBack, TouchedByTheDriver) {
  auto wait = down_and_wait();
  t.h2d_async(device, host, kBytes, kX);
  EXPECT_TRUE(t.touch(host, false, TouchBy::driver));
  EXPECT_EQ(t.reasons(wait), kDriverAccess);
}

// Whoever reads it behind the copy misses it just as before.
TEST_F(FetchedBack, AndReadByTheProgramLater) {
  auto wait = down_and_wait();
  t.h2d_async(device, host, kBytes, kX);
  EXPECT_TRUE(t.touch(host));
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

// The copy reads it until it is done: who writes it then relies on the second wait, which covers both.
TEST_F(FetchedBack, AndWrittenBehindTheNextWait) {
  auto first = down_and_wait();
  t.h2d_async(device, host, kBytes, kX);
  auto second = t.synchronize(kX);
  EXPECT_TRUE(t.touch(host, true));
  EXPECT_EQ(t.reasons(first), kNotNeeded);
  EXPECT_EQ(t.reasons(second), kCpuAccess | kSourceReuse);
}

// The program changed it in between: that is a use, and what goes up is looked at again.
TEST_F(FetchedBack, ChangedByTheProgram) {
  auto wait = down_and_wait();
  t.touch(host, true);
  memset(host, 4, kBytes);
  auto copy = t.h2d_async(device, host, kBytes, kX);
  EXPECT_EQ(kind_of(copy), Duplicate::none);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

// Addresses in it have to be found by each copy that carries them: it looks, and the guard is down before.
TEST_F(FetchedBack, WithAnAddressInIt) {
  memcpy(reinterpret_cast<void*>(device + 64), &other, sizeof other);
  auto wait = down_and_wait();
  t.h2d_async(device, host, kBytes, kX);
  EXPECT_FALSE(t.guarded(host));
  EXPECT_EQ(t.reasons(wait), kDeviceReuse);
}

// Memory made since may be what a word of it points to.
TEST_F(FetchedBack, WithMemoryMadeInBetween) {
  auto wait = down_and_wait();
  t.pinned(64 * kBytes), t.device(64 * kBytes);
  t.h2d_async(device, host, kBytes, kX);
  EXPECT_EQ(t.reasons(wait), kDeviceReuse);
}

// Kernels may have written it since, unseen.
TEST_F(FetchedBack, WithinKernelsReach) {
  auto wait = down_and_wait();
  t.launch(kX, {t.address(host)});
  t.h2d_async(device, host, kBytes, kX);
  EXPECT_EQ(t.reasons(wait) & kDeviceReuse, kDeviceReuse);
}

// Still being written: what lies there is not what will be sent.
TEST_F(FetchedBack, BeforeItIsThere) {
  t.d2h_async(host, device, kBytes, kX);
  auto copy = t.h2d_async(other, host, kBytes, kX);
  t.synchronize(kX);
  EXPECT_FALSE(t.hash(copy));
}

// Use times: nothing is hashed, so nothing need be known.
TEST(FetchedBackLater, WithoutContents) {
  Timeline t(Stage::sync_use);
  world().planned_stacks = {world().stack};
  t.stream(kX, CU_STREAM_NON_BLOCKING);
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  t.h2d_async(kDevice, host, kBytes / 2, kX);
  EXPECT_TRUE(t.guarded(host));
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
}

}  // namespace
}  // namespace diogenes::agent::testing
