#include "analysis/necessity/containers/seen_twice.h"

#include <gtest/gtest.h>

#include <random>

namespace diogenes::necessity {
namespace {

TEST(SeenTwice, MissesNoneAndMistakesFew) {
  constexpr size_t kHashes = 10'000;
  std::mt19937_64 random(1);
  std::vector<uint64_t> hashes(kHashes);
  for (uint64_t& hash : hashes) hash = random();
  SeenTwice seen(kHashes + kHashes / 2);
  for (uint64_t hash : hashes) seen.see(hash);
  for (size_t i = 0; i < kHashes / 2; ++i) seen.see(hashes[i]);
  for (size_t i = 0; i < kHashes / 2; ++i) EXPECT_TRUE(seen.maybe(hashes[i]));
  size_t mistaken = 0;
  for (size_t i = kHashes / 2; i < kHashes; ++i) mistaken += seen.maybe(hashes[i]);
  EXPECT_LT(mistaken, kHashes / 2 / 10);
}

TEST(SeenTwice, NothingToSee) {
  SeenTwice seen(0);
  EXPECT_FALSE(seen.maybe(7));
}

}  // namespace
}  // namespace diogenes::necessity
