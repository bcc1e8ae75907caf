#include "gpu_times/times_channel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gpu_times/correlations.h"

namespace diogenes {
namespace {

GpuTime time_of(uint64_t operation) {
  return {
      operation, static_cast<int64_t>(operation), static_cast<int64_t>(operation) + 1, 0, 0, GpuWork::kernel,
      {}};
}

std::vector<uint64_t> taken(TimesChannel& channel, size_t most) {
  std::vector<GpuTime> times(most);
  std::vector<uint64_t> operations;
  for (size_t count; (count = channel.take(times.data(), most)) > 0;)
    for (size_t i = 0; i < count; ++i) operations.push_back(times[i].operation);
  return operations;
}

TEST(TimesChannel, GivesBackInOrderWhateverTheSizes) {
  auto channel = std::make_unique<TimesChannel>();
  std::vector<uint64_t> given;
  for (size_t count : {size_t{1}, TimesChannel::kBatch, 2 * TimesChannel::kBatch + 7, size_t{3}}) {
    TimesChannel::Giver giver(*channel);
    for (size_t i = 0; i < count; ++i) {
      given.push_back(given.size() + 1);
      giver.add(time_of(given.back()));
    }
  }
  EXPECT_EQ(taken(*channel, 64), given);
  EXPECT_TRUE(taken(*channel, 64).empty());
}

TEST(TimesChannel, BatchesAreUsedAgain) {
  auto channel = std::make_unique<TimesChannel>();
  for (uint64_t round = 1; round <= 3000; ++round) {
    { TimesChannel::Giver(*channel).add(time_of(round)); }
    ASSERT_EQ(taken(*channel, 8), std::vector<uint64_t>{round});
  }
  EXPECT_EQ(channel->lost(), 0u);
}

// Two givers and three takers at once: each time comes out once.
TEST(TimesChannel, ManyThreadsLoseAndDoubleNothing) {
  constexpr uint64_t kEach = 200'000;
  auto channel = std::make_unique<TimesChannel>();
  std::vector<std::atomic<int>> seen(2 * kEach + 1);
  std::atomic<bool> over{false};
  auto give = [&](uint64_t first) {
    for (uint64_t i = 0; i < kEach;) {
      TimesChannel::Giver giver(*channel);
      for (uint64_t end = std::min(kEach, i + 1 + i % 1500); i < end; ++i) giver.add(time_of(first + i));
    }
  };
  auto take = [&] {
    GpuTime times[37];
    while (!over.load())
      for (size_t count; (count = channel->take(times, 37)) > 0;)
        for (size_t i = 0; i < count; ++i) seen[times[i].operation].fetch_add(1);
  };
  std::vector<std::thread> takers;
  for (int i = 0; i < 3; ++i) takers.emplace_back(take);
  std::thread one(give, 1), other(give, kEach + 1);
  one.join();
  other.join();
  over = true;
  for (auto& taker : takers) taker.join();
  for (uint64_t operation : taken(*channel, 64)) seen[operation].fetch_add(1);
  for (size_t i = 1; i < seen.size(); ++i) ASSERT_EQ(seen[i].load(), 1) << i;
}

TEST(Correlations, AnIdThatLostItsSlotFindsNothing) {
  Correlations table;
  ASSERT_TRUE(table.open());
  const uint32_t later = 5 + (1u << Correlations::kSlotBits);
  EXPECT_EQ(table.operation(5), 0u);
  table.set(5, 42);
  EXPECT_EQ(table.operation(5), 42u);
  EXPECT_EQ(table.operation(later), 0u);
  table.set(later, 43);
  EXPECT_EQ(table.operation(5), 0u);
  EXPECT_EQ(table.operation(later), 43u);
  const uint64_t largest = (uint64_t{4095} << 32 | 0xffffffff) + 1;  // the agent's last thread and sequence
  table.set(0xffffffff, largest);
  EXPECT_EQ(table.operation(0xffffffff), largest);
}

}  // namespace
}  // namespace diogenes
