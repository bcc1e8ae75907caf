// The start of every timeline in the verdicts' tests: three non-blocking streams.
#pragma once
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "agent/necessity/testing/timeline.h"

namespace diogenes::agent::testing {

inline constexpr uint64_t kX = 0x1000, kY = 0x2000, kZ = 0x3000;  // streams
inline constexpr uint64_t kE = 0x5000, kF = 0x6000;               // events
inline constexpr uint64_t kDevice = 0x7000;
inline constexpr uint64_t kBytes = 8192;
inline constexpr uint32_t kNotNeeded = 0;

struct Necessity : ::testing::Test {
  Timeline t;
  void SetUp() override {
    t.stream(kX, CU_STREAM_NON_BLOCKING);
    t.stream(kY, CU_STREAM_NON_BLOCKING);
    t.stream(kZ, CU_STREAM_NON_BLOCKING);
  }
};

}  // namespace diogenes::agent::testing
