// Pinned memory that no kernel is given, and that one reaches by an address which it finds elsewhere.
#include <gtest/gtest.h>

#include "agent/watching/facts/content/found_addresses.h"
#include "agent/watching/facts/testing/collected_program.h"

namespace diogenes::agent::testing {
namespace {

constexpr uint64_t kBytes = 8192;

struct FoundAddresses : ::testing::Test, Program {
  const uint64_t table = device(kBytes);
  void* const hidden = pinned(kBytes);

  bool is_reached(const Recorded& launched) { return launched.operand(address(hidden)) != nullptr; }
  bool is_reached() { return is_reached(launch(kStream, {table})); }
};

TEST_F(FoundAddresses, WithoutOneItIsNotReached) {
  const uint64_t words[] = {1, address(hidden) + kBytes};
  h2d(table, words, sizeof words);
  EXPECT_FALSE(is_reached());
}

// The word may be passed on from there.
TEST_F(FoundAddresses, UploadedItIsReachedByAllKernels) {
  const uint64_t words[] = {1, address(hidden) + 16};
  h2d(table, words, sizeof words);
  EXPECT_TRUE(is_reached());
  EXPECT_TRUE(is_reached(launch(kStream, {device(kBytes)})));
}

TEST_F(FoundAddresses, BehindManyOthers) {
  std::vector<uint64_t> words(1000, table);
  words.back() = address(hidden);
  h2d(table, words.data(), words.size() * 8);
  EXPECT_TRUE(is_reached());
}

TEST_F(FoundAddresses, LargerUploadsAreNotLookedThrough) {
  std::vector<uint64_t> words(kMostSearched / 8 + 1, address(hidden));
  const uint64_t large = device(words.size() * 8);
  h2d(large, words.data(), words.size() * 8);
  EXPECT_FALSE(is_reached());
  h2d(large, words.data(), words.size() * 8 - 8);
  EXPECT_TRUE(is_reached());
}

// A word of the device's.
TEST_F(FoundAddresses, UploadedToAnOddPlace) {
  const uint64_t word = address(hidden);
  h2d(table + 4, &word, sizeof word);
  EXPECT_FALSE(is_reached());
  unsigned char bytes[12] = {};
  memcpy(bytes + 4, &word, sizeof word);
  h2d(table + 4, bytes, sizeof bytes);
  EXPECT_TRUE(is_reached());
}

TEST_F(FoundAddresses, WrittenByAStream) {
  call("cuStreamWriteValue64_v2", {kStream, table, 7, 0});
  EXPECT_FALSE(is_reached());
  call("cuStreamWriteValue64_v2", {kStream, table, address(hidden), 0});
  EXPECT_TRUE(is_reached());
}

TEST_F(FoundAddresses, InMemoryThatTheKernelIsGiven) {
  auto* shared = static_cast<uint64_t*>(pinned(kBytes));
  EXPECT_FALSE(is_reached(launch(kStream, {address(shared)})));
  shared[5] = address(hidden);
  EXPECT_TRUE(is_reached(launch(kStream, {address(shared)})));
  EXPECT_TRUE(is_reached());
}

TEST_F(FoundAddresses, WhatIsReadForThemKeepsItsGuard) {
  auto* shared = static_cast<uint64_t*>(pinned(kBytes));
  launch(kStream, {address(shared)});
  synchronize(kStream);
  ASSERT_TRUE(is_guarded(shared));
  launch(kStream, {address(shared)});
  EXPECT_TRUE(is_guarded(shared));
}

// The CPU may not read it at all times, or not soon enough.
TEST_F(FoundAddresses, InManagedOrMuchMemoryThereMayBeAny) {
  EXPECT_TRUE(is_reached(launch(kStream, {address(managed(kBytes))})));
  EXPECT_TRUE(is_reached(launch(kStream, {address(pinned(1 << 20))})));
  // It is not for others: those kernels may have kept it, but that is not seen.
  EXPECT_FALSE(is_reached(launch(kStream, {device(kBytes)})));
}

}  // namespace
}  // namespace diogenes::agent::testing
