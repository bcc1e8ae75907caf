// Data that nothing used: each way of losing it, and what must not be taken for one.
#include <gtest/gtest.h>

#include <cstring>

#include "agent/necessity/testing/timeline.h"

namespace diogenes::agent::testing {
namespace {

constexpr uint64_t kX = 0x1000, kY = 0x2000, kE = 0x3000;
constexpr uint64_t kBytes = 8192;

struct UnreadTest : ::testing::Test {
  Timeline t;
  uint64_t device = 0;
  char* host = nullptr;
  void* pinned = nullptr;
  void SetUp() override {
    t.stream(kX, CU_STREAM_NON_BLOCKING);
    t.stream(kY, CU_STREAM_NON_BLOCKING);
    t.event(kE);
    device = t.device(kBytes);
    host = static_cast<char*>(t.pageable(kBytes));
    pinned = t.pinned(kBytes);
  }
  // Other bytes than any time before.
  Operation upload() {
    ++host[0];
    return t.h2d(device, host, kBytes);
  }
  Operation upload_async(uint64_t stream) {
    ++*static_cast<char*>(pinned);
    return t.h2d_async(device, pinned, kBytes, stream);
  }
};

using Upload = UnreadTest;

TEST_F(Upload, OverwrittenByAnotherCopy) {
  auto first = upload(), second = upload();
  t.launch(kLegacy);
  t.synchronize_context();
  EXPECT_EQ(t.unused(first), Unused::overwritten);
  EXPECT_EQ(t.unused(second), Unused::no);
  EXPECT_EQ(world().unused[0].by.sequence, second);
}

TEST_F(Upload, OverwrittenByAFill) {
  auto copy = upload();
  t.call("cuMemsetD8_v2", {device, 0, kBytes});
  t.synchronize_context();
  EXPECT_EQ(t.unused(copy), Unused::overwritten);
}

TEST_F(Upload, Released) {
  auto copy = upload();
  t.free_device(device);
  EXPECT_EQ(t.unused(copy), Unused::released);
}

TEST_F(Upload, AnyKernelMayHaveReadIt) {
  auto copy = upload();
  t.launch(kX);
  upload();
  t.free_device(device);
  EXPECT_EQ(t.unused(copy), Unused::no);
}

TEST_F(Upload, KernelsReadWhatTheyAreGiven) {
  uint64_t other = t.device(kBytes);
  auto given = upload();
  t.launch(kX, {device + 16});
  t.synchronize(kX);
  auto beside = upload();
  t.launch(kX, {other});
  upload();
  t.synchronize_context();
  EXPECT_EQ(t.unused(given), Unused::no);
  EXPECT_EQ(t.unused(beside), Unused::overwritten);
  EXPECT_EQ(world().unused[0].conditions, kConditionArguments);
}

// A kernel of another stream that runs already: only what it was given counts.
TEST_F(Upload, BesideARunningKernelThatHasItOrNot) {
  uint64_t other = t.device(kBytes);
  t.launch(kX, {device});
  auto beside = upload();
  upload();
  t.synchronize(kX);
  t.launch(kX, {other});
  auto apart = upload();
  upload();
  t.synchronize_context();
  EXPECT_EQ(t.unused(beside), Unused::no);
  EXPECT_EQ(t.unused(apart), Unused::overwritten);
}

// Memory whose address was copied to the device may be reached from there.
TEST_F(Upload, AddressOnTheDevice) {
  uint64_t table = t.device(kBytes);
  void* list = t.pageable(kBytes);
  memcpy(list, &device, sizeof device);
  t.h2d(table, list, kBytes);
  auto copy = upload();
  t.launch(kX, {table});
  upload();
  t.synchronize_context();
  EXPECT_EQ(t.unused(copy), Unused::no);
}

TEST_F(Upload, CopiedFromThere) {
  uint64_t other = t.device(kBytes);
  auto on_device = upload();
  t.call("cuMemcpyDtoD_v2", {other, device, kBytes});
  auto to_host = upload();
  t.d2h(t.pageable(kBytes), device, 16);
  auto unrelated = upload();
  t.call("cuMemcpyDtoD_v2", {other, other + kBytes / 2, kBytes / 2});
  t.free_device(device);
  EXPECT_EQ(t.unused(on_device), Unused::no);
  EXPECT_EQ(t.unused(to_host), Unused::no);
  EXPECT_EQ(t.unused(unrelated), Unused::released);
}

TEST_F(Upload, OverwrittenInPartIsStillThere) {
  auto copy = upload();
  t.call("cuMemsetD8_v2", {device, 0, kBytes - 1});
  t.synchronize_context();
  EXPECT_EQ(t.unused(copy), Unused::no);
}

TEST_F(Upload, GraphsBatchesAndMemoryOperationsMayReadIt) {
  std::vector<Operation> copies;
  for (const char* symbol : {"cuGraphLaunch", "cuStreamWaitValue32_v2", "cuMemcpyBatchAsync"}) {
    copies.push_back(upload());
    std::vector<uint64_t> arguments(9, kX);
    t.call(symbol, arguments);
    upload();
    t.synchronize_context();
  }
  for (Operation copy : copies) EXPECT_EQ(t.unused(copy), Unused::no) << copy;
}

// A kernel that ran when the copy was made: it may poll.
TEST_F(Upload, BesideARunningKernel) {
  t.launch(kX);
  auto beside = upload();
  upload();
  t.synchronize(kX);
  auto behind = upload();
  upload();
  t.synchronize_context();
  EXPECT_EQ(t.unused(beside), Unused::no);
  EXPECT_EQ(t.unused(behind), Unused::overwritten);
}

// The overwriting copy is on its way when a kernel starts on another stream: it may be earlier.
TEST_F(Upload, KernelThatMayRunBeforeTheOverwriting) {
  auto first = upload_async(kX);
  upload_async(kX);
  t.launch(kY);
  t.synchronize(kX);
  t.synchronize(kY);
  EXPECT_EQ(t.unused(first), Unused::no);
}

TEST_F(Upload, KernelBehindTheOverwriting) {
  auto first = upload_async(kX);
  upload_async(kX);
  t.record(kE, kX);
  t.wait(kY, kE);
  t.launch(kY);
  t.synchronize(kX);
  EXPECT_EQ(t.unused(first), Unused::overwritten);
}

TEST_F(Upload, TwoCopiesInNoOrder) {
  auto first = upload_async(kX);
  upload_async(kY);
  t.synchronize(kX);
  t.synchronize(kY);
  EXPECT_EQ(t.unused(first), Unused::no);
}

TEST_F(Upload, NeverKnownToBeOverwritten) {
  auto first = upload_async(kX);
  upload_async(kX);
  EXPECT_EQ(t.unused(first), Unused::no);
}

TEST_F(Upload, MemoryThatOtherProcessesReach) {
  auto copy = upload();
  t.call("cuIpcGetMemHandle", {0x10, device});
  upload();
  upload();
  t.free_device(device);
  EXPECT_EQ(t.unused(copy), Unused::no);
  EXPECT_TRUE(world().unused.empty());
}

TEST_F(Upload, ReleasedInTheStreamsOrder) {
  uint64_t memory = Timeline::address(t.pageable(kBytes));
  t.call("cuMemAllocAsync", {Timeline::address(&memory), kBytes, kX});
  auto copy = t.h2d_async(memory, pinned, kBytes, kX);
  t.call("cuMemFreeAsync", {memory, kX});
  t.synchronize(kX);
  EXPECT_EQ(t.unused(copy), Unused::overwritten);
}

TEST_F(Upload, ToAVariableOrManagedMemory) {
  char* managed = static_cast<char*>(t.managed(kBytes));
  auto copy = t.h2d(Timeline::address(managed), host, kBytes);
  ++host[0];
  t.h2d(Timeline::address(managed), host, kBytes);
  t.synchronize_context();
  EXPECT_EQ(t.unused(copy), Unused::no);
}

using Memory = UnreadTest;

TEST_F(Memory, ReleasedWithoutAnyAccess) {
  uint64_t memory = Timeline::address(t.pageable(kBytes));
  auto made = t.call("cuMemAlloc_v2", {Timeline::address(&memory), kBytes});
  upload();
  t.free_device(memory);
  EXPECT_EQ(t.unused(made), Unused::released);
}

TEST_F(Memory, WrittenOrWithinReachOfAKernel) {
  uint64_t memory = Timeline::address(t.pageable(kBytes)), other = Timeline::address(t.pageable(kBytes));
  auto written = t.call("cuMemAlloc_v2", {Timeline::address(&memory), kBytes});
  t.call("cuMemsetD8_v2", {memory + 8, 0, 8});
  t.free_device(memory);
  auto reached = t.call("cuMemAlloc_v2", {Timeline::address(&other), kBytes});
  t.launch(kX);
  t.free_device(other);
  EXPECT_EQ(t.unused(written), Unused::no);
  EXPECT_EQ(t.unused(reached), Unused::no);
}

TEST_F(Memory, MadeWhileAKernelRuns) {
  t.launch(kX);
  uint64_t memory = Timeline::address(t.pageable(kBytes));
  auto made = t.call("cuMemAlloc_v2", {Timeline::address(&memory), kBytes});
  t.free_device(memory);
  EXPECT_EQ(t.unused(made), Unused::no);
}

struct Download : UnreadTest {
  void SetUp() override {
    UnreadTest::SetUp();
    t.launch(kX);
    t.synchronize_context();
  }
  // The site's first asynchronous copy is looked at, and not used.
  Operation guarded_in_flight() {
    auto first = t.d2h_async(pinned, device, kBytes, kX);
    t.synchronize(kX);
    return first;
  }
};

TEST_F(Download, OverwrittenByTheNextOne) {
  auto first = t.d2h(host, device, kBytes), second = t.d2h(host, device, kBytes);
  t.touch(host);
  EXPECT_EQ(t.unused(first), Unused::overwritten);
  EXPECT_EQ(t.unused(second), Unused::no);
}

TEST_F(Download, ReleasedUnread) {
  auto copy = t.d2h(pinned, device, kBytes);
  t.free_host(pinned);
  EXPECT_EQ(t.unused(copy), Unused::released);
}

TEST_F(Download, FreedByTheProgram) {
  auto copy = t.d2h(host, device, kBytes);
  t.touch(host, false, TouchBy::gone);
  t.synchronize_context();
  EXPECT_EQ(t.unused(copy), Unused::released);
}

// Before any synchronization: a program may poll the memory.
TEST_F(Download, LookedAtBeforeTheWait) {
  guarded_in_flight();
  auto copy = t.d2h_async(pinned, device, kBytes, kX);
  EXPECT_TRUE(t.touch(pinned));
  t.synchronize(kX);
  t.free_host(pinned);
  EXPECT_EQ(t.unused(copy), Unused::no);
}

TEST_F(Download, AsynchronousAndNeverLookedAt) {
  auto first = guarded_in_flight();
  auto second = t.d2h_async(pinned, device, kBytes, kX);
  EXPECT_TRUE(t.guarded(pinned));
  t.synchronize(kX);
  auto third = t.d2h_async(pinned, device, kBytes, kX);  // not waited for before it is overwritten
  auto fourth = t.d2h_async(pinned, device, kBytes, kX);
  t.synchronize(kX);
  t.free_host(pinned);
  EXPECT_EQ(t.unused(first), Unused::no);  // between the call and the wait it was out of sight
  EXPECT_EQ(t.unused(second), Unused::overwritten);
  EXPECT_EQ(t.unused(third), Unused::overwritten);
  EXPECT_EQ(t.unused(fourth), Unused::released);
  EXPECT_TRUE(t.hash(first));
  EXPECT_FALSE(t.hash(second));
}

TEST_F(Download, AsynchronousAndLookedAtBehindTheWait) {
  guarded_in_flight();
  auto copy = t.d2h_async(pinned, device, kBytes, kX);
  auto wait = t.synchronize(kX);
  t.touch(pinned);
  t.free_host(pinned);
  EXPECT_EQ(t.unused(copy), Unused::no);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

// In no order: either may be what is there at the end.
TEST_F(Download, AsynchronousAndOverwrittenInNoOrder) {
  guarded_in_flight();
  auto copy = t.d2h_async(pinned, device, kBytes, kX);
  t.d2h_async(pinned, device, kBytes, kY);
  t.synchronize_context();
  EXPECT_EQ(t.unused(copy), Unused::no);
}

// Where the data is used, the content is what is looked at, each time.
TEST_F(Download, AsynchronousOnesThatAreUsedAreHashed) {
  for (int i = 0; i < 5; ++i) {
    auto copy = t.d2h_async(pinned, device, kBytes, kX);
    EXPECT_EQ(t.guards_on(pinned), 0);
    t.synchronize(kX);
    t.touch(pinned);
    EXPECT_TRUE(t.hash(copy)) << i;
  }
}

TEST_F(Download, SentBackOrOverwrittenInPart) {
  auto back = t.d2h(host, device, kBytes);
  t.h2d(device, host, 16);
  auto part = t.d2h(host, device, kBytes);
  t.d2h(host, device, kBytes - 4096);
  t.d2h(host, device, kBytes);
  EXPECT_EQ(t.unused(back), Unused::no);
  EXPECT_EQ(t.unused(part), Unused::no);
}

TEST_F(Download, OpenedForAnyOtherReason) {
  for (TouchBy by : {TouchBy::driver, TouchBy::system_call, TouchBy::exposed, TouchBy::given_up}) {
    auto copy = t.d2h(host, device, kBytes);
    t.touch(host, false, by);
    auto next = t.d2h(host, device, kBytes);
    t.touch(host);
    for (auto& record : world().unused) EXPECT_NE(record.sequence, copy) << static_cast<int>(by);
    (void)next;
  }
}

TEST_F(Download, CopiesInNoOrder) {
  auto first = t.d2h_async(pinned, device, kBytes, kX);
  t.d2h_async(pinned, device, kBytes, kY);
  t.synchronize_context();
  t.free_host(pinned);
  EXPECT_EQ(t.unused(first), Unused::no);
}

TEST_F(Download, WithinReachOfAKernel) {
  auto copy = t.d2h(pinned, device, kBytes);
  t.launch(kX, {Timeline::address(pinned)});
  t.synchronize(kX);
  t.free_host(pinned);
  EXPECT_EQ(t.unused(copy), Unused::no);
}

TEST_F(Download, GraphsMayReadIt) {
  auto copy = t.d2h(pinned, device, kBytes);
  t.call("cuGraphLaunch", {0x77, kX});
  t.synchronize(kX);
  t.free_host(pinned);
  EXPECT_EQ(t.unused(copy), Unused::no);
}

TEST_F(Download, SmallPiecesOfTheHeapAreNotWatched) {
  char* small = static_cast<char*>(t.pageable(256, 128));
  auto first = t.d2h(small, device, 256);
  t.d2h(small, device, 256);
  EXPECT_EQ(t.unused(first), Unused::no);
}

// A site whose data is used gets no guards any more.
TEST_F(Download, ASiteThatIsUsedIsLeftAlone) {
  world().refuse_guards = false;
  std::vector<Operation> copies;
  for (int i = 0; i < 10; ++i) {
    copies.push_back(t.d2h(pinned, device, kBytes));
    t.touch(pinned);
  }
  auto unread = t.d2h(pinned, device, kBytes);
  EXPECT_EQ(t.guards_on(pinned), 1);  // the wait's
  t.free_host(pinned);
  EXPECT_EQ(t.unused(unread), Unused::no);
}

}  // namespace
}  // namespace diogenes::agent::testing
