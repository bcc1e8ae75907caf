// Samples made by hand after the stacks of facts/: helper inside wait function, under calls that differ.
#include "driver/discovery/wait_evidence.h"

#include <gtest/gtest.h>

namespace diogenes {
namespace {

constexpr uint64_t kHelper = 0x4611b0, kWait = 0x22bb00, kFreeImpl = 0x340cf0, kCopyImpl = 0x1caae0,
                   kFree = 0x9000, kCopy = 0x9100, kSynchronize = 0x9200, kLaunch = 0x9300, kYield = 0xfc9ee0,
                   kQueue = 0x222b00, kLaunchImpl = 0x5000;

bool is_export(uint64_t offset) { return offset >= 0x9000 && offset < 0xa000; }

CallEvidence call(const char* name, std::vector<DriverStack> samples, bool waited = true) {
  return {.name = name, .waited = waited, .samples = std::move(samples)};
}

TEST(WaitEvidence, TheFunctionThatAllWaitingCallsShareComesFirst) {
  const CallEvidence calls[] = {
      call("free", {{kHelper, kWait, kFreeImpl, kFree}, {kHelper, kWait, kFreeImpl, kFree}}),
      call("copy", {{kHelper, kWait, kCopyImpl, kCopy}, {kHelper, kWait, kCopyImpl, kCopy}}),
      call("synchronize", {{kWait, kSynchronize}, {kWait, kSynchronize}}),  // the helper is on two of three
  };
  const auto candidates = rank_wait_candidates(calls, is_export);
  ASSERT_EQ(candidates.size(), 4u);  // no exported one
  EXPECT_EQ(candidates[0].offset, kWait);
  EXPECT_EQ(candidates[0].agreed, 3);
  EXPECT_EQ(candidates[1].offset, kHelper);
  EXPECT_EQ(candidates[1].agreed, 2);
  EXPECT_EQ(waiting_calls(calls), 3);
}

TEST(WaitEvidence, OfSeveralThatAgreeTheOutermost) {
  const CallEvidence calls[] = {call("free", {{kHelper, kWait, kFreeImpl, kFree}}),
                                call("copy", {{kHelper, kWait, kCopyImpl, kCopy}})};
  const auto candidates = rank_wait_candidates(calls, is_export);
  EXPECT_EQ(candidates[0].offset, kWait);
  EXPECT_EQ(candidates[1].offset, kHelper);
}

// The helper is left and entered again: it is missing from one sample, so it does not count for that call.
TEST(WaitEvidence, AFunctionThatIsLeftDuringTheWaitIsNotOnTheWaitingStack) {
  const CallEvidence calls[] = {call(
      "free", {{kHelper, kWait, kFree}, {kHelper, kWait, kFree}, {kWait, kFree}, {kHelper, kWait, kFree}})};
  EXPECT_EQ(waiting_stack(calls[0]), (DriverStack{kWait, kFree}));
  const auto candidates = rank_wait_candidates(calls, is_export);
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(candidates[0].samples, 2);  // of the second half
}

// What a call does before it waits (compiling a module, say) is not held against the wait function.
TEST(WaitEvidence, TheFirstHalfOfTheHoldDoesNotCount) {
  const CallEvidence load =
      call("load", {{0x700, 0x9400}, {0x710, 0x9400}, {kHelper, kWait, 0x9400}, {kHelper, kWait, 0x9400}});
  EXPECT_EQ(waiting_stack(load), (DriverStack{kHelper, kWait, 0x9400}));
}

TEST(WaitEvidence, CallsThatReturnedAreNoWaits) {
  const CallEvidence calls[] = {call("free", {{kWait, kFree}}), call("query", {{0x1234, 0x9500}}, false)};
  const auto candidates = rank_wait_candidates(calls, is_export);
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(candidates[0].offset, kWait);
  EXPECT_EQ(waiting_calls(calls), 1);
}

// A function that is on a stack twice (recursion) counts once.
TEST(WaitEvidence, RecursionCountsOnce) {
  const CallEvidence calls[] = {call("free", {{kWait, kFreeImpl, kFreeImpl, kFree}})};
  EXPECT_EQ(waiting_stack(calls[0]), (DriverStack{kWait, kFreeImpl, kFree}));
  EXPECT_EQ(rank_wait_candidates(calls, is_export)[0].agreed, 1);
}

TEST(WaitEvidence, TheQueueWaitsSomewhereElse) {
  CallEvidence queue =
      call("queue", {{kYield, kQueue, kLaunchImpl, kLaunch}, {kQueue, kLaunchImpl, kLaunch}});
  queue.samples.insert(queue.samples.end(), 2, {kYield, kQueue, kLaunchImpl, kLaunch});
  EXPECT_EQ(queue_candidates(queue, kWait, is_export), (DriverStack{kYield, kQueue, kLaunchImpl}));
  queue.samples.push_back({kQueue, kLaunchImpl, kLaunch});  // not in the yielding helper all the time
  EXPECT_EQ(queue_candidates(queue, kWait, is_export), (DriverStack{kQueue, kLaunchImpl}));
  EXPECT_EQ(queue_candidates(queue, kQueue, is_export), (DriverStack{kLaunchImpl}));
  queue.waited = false;
  EXPECT_TRUE(queue_candidates(queue, kWait, is_export).empty());
}

TEST(WaitEvidence, NothingFromNothing) {
  EXPECT_TRUE(waiting_stack({}).empty());
  EXPECT_TRUE(rank_wait_candidates({}, is_export).empty());
}

}  // namespace
}  // namespace diogenes
