// Pinned memory that no kernel is given, and that one reaches by an address which it finds elsewhere.
#include <gtest/gtest.h>

#include "agent/watching/facts/testing/collected_program.h"

namespace diogenes::agent::testing {
namespace {

constexpr uint64_t kBytes = 8192;

struct HiddenAddresses : ::testing::Test, Program {
  const uint64_t table = device(kBytes);
  void* const hidden = pinned(kBytes);

  bool is_reached(const Recorded& launched) { return launched.operand(address(hidden)) != nullptr; }
  bool is_reached_by_table() { return is_reached(launch(kStream, {table})); }
};

TEST_F(HiddenAddresses, WithoutOneItIsNotReached) {
  const uint64_t words[] = {1, address(hidden) + kBytes};
  h2d(table, words, sizeof words);
  EXPECT_FALSE(is_reached_by_table());
}

TEST_F(HiddenAddresses, Uploaded) {
  const uint64_t words[] = {1, address(hidden) + 16};
  h2d(table, words, sizeof words);
  EXPECT_TRUE(is_reached_by_table());
}

// The word still lies in the table.
TEST_F(HiddenAddresses, OfMemoryThatIsGivenOnceMore) {
  const uint64_t word = address(hidden);
  h2d(table, &word, sizeof word);
  call("cuMemFreeHost", {address(hidden)});
  EXPECT_FALSE(is_reached_by_table());
  void* again = hidden;
  call("cuMemHostAlloc", {address(&again), kBytes, 0});
  EXPECT_TRUE(is_reached_by_table());
  call("cuMemFreeHost", {address(hidden)});
  call("cuMemHostRegister_v2", {address(hidden), kBytes, 0});
  EXPECT_TRUE(is_reached_by_table());
}

TEST_F(HiddenAddresses, BehindMoreAddressesThanAreKept) {
  std::vector<uint64_t> words(1000, table);
  words.back() = address(hidden);
  h2d(table, words.data(), words.size() * 8);
  EXPECT_TRUE(is_reached_by_table());
}

// Where a word of the device's is in two pieces, the upper half tells.
TEST_F(HiddenAddresses, UploadedInHalves) {
  const uint64_t word = address(hidden);
  h2d(table, &word, 4);
  EXPECT_FALSE(is_reached_by_table());
  h2d(table + 4, reinterpret_cast<const char*>(&word) + 4, 4);
  EXPECT_TRUE(is_reached_by_table());
}

TEST_F(HiddenAddresses, UploadedInOddPieces) {
  const uint64_t words[] = {0, address(hidden), 0};
  h2d(table, words, 13);
  EXPECT_FALSE(is_reached_by_table());
  h2d(table + 13, reinterpret_cast<const char*>(words) + 13, 3);
  EXPECT_TRUE(is_reached_by_table());
}

TEST_F(HiddenAddresses, WrittenByAStream) {
  call("cuStreamWriteValue64_v2", {kStream, table, 7, 0});
  EXPECT_FALSE(is_reached_by_table());
  call("cuStreamWriteValue64_v2", {kStream, table, address(hidden), 0});
  EXPECT_TRUE(is_reached_by_table());
}

TEST_F(HiddenAddresses, AFillOfTheUpperHalf) {
  call("cuMemsetD32_v2", {table, 1, 1});
  EXPECT_FALSE(is_reached_by_table());
  call("cuMemsetD32_v2", {table + 4, address(hidden) >> 32, 1});
  EXPECT_TRUE(is_reached_by_table());
}

TEST_F(HiddenAddresses, InMemoryThatTheKernelIsGiven) {
  auto* shared = static_cast<uint64_t*>(pinned(kBytes));
  EXPECT_FALSE(is_reached(launch(kStream, {address(shared)})));
  shared[5] = address(hidden);
  EXPECT_TRUE(is_reached(launch(kStream, {address(shared)})));
}

TEST_F(HiddenAddresses, BehindAnotherOne) {
  auto *shared = static_cast<uint64_t*>(pinned(kBytes)), *between = static_cast<uint64_t*>(pinned(kBytes));
  shared[5] = address(between), between[7] = address(hidden);
  EXPECT_TRUE(is_reached(launch(kStream, {address(shared)})));
}

TEST_F(HiddenAddresses, WhatIsReadForThemKeepsItsGuard) {
  auto* shared = static_cast<uint64_t*>(pinned(kBytes));
  launch(kStream, {address(shared)});
  synchronize(kStream);
  ASSERT_TRUE(is_guarded(shared));
  launch(kStream, {address(shared)});
  EXPECT_TRUE(is_guarded(shared));
}

// The CPU may not read it at all times, or not soon enough.
TEST_F(HiddenAddresses, InManagedOrMuchMemoryThereMayBeAny) {
  EXPECT_FALSE(is_reached(launch(kStream, {device(kBytes)})));
  EXPECT_TRUE(is_reached(launch(kStream, {address(managed(kBytes))})));
  EXPECT_TRUE(is_reached(launch(kStream, {address(pinned(1 << 20))})));
  // It is not for others: those kernels may have kept it, but that is not seen.
  EXPECT_FALSE(is_reached(launch(kStream, {device(kBytes)})));
}

TEST_F(HiddenAddresses, UploadedByAGraph) {
  auto* words = static_cast<uint64_t*>(pinned(kBytes));
  Node& upload = node(kGraph, CU_GRAPH_NODE_TYPE_MEMCPY);
  upload.copy.srcMemoryType = CU_MEMORYTYPE_HOST, upload.copy.srcHost = words;
  upload.copy.dstMemoryType = CU_MEMORYTYPE_DEVICE, upload.copy.dstDevice = table;
  upload.copy.WidthInBytes = kBytes, upload.copy.Height = upload.copy.Depth = 1;
  instantiate();
  launch_graph();
  EXPECT_FALSE(is_reached_by_table());
  words[9] = address(hidden);
  launch_graph();
  EXPECT_TRUE(is_reached_by_table());
}

}  // namespace
}  // namespace diogenes::agent::testing
