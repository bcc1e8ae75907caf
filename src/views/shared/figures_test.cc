#include "views/shared/figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace diogenes {
namespace {

TEST(Figures, Seconds) {
  EXPECT_EQ(seconds_text(1.234), "1.23 s");
  EXPECT_EQ(seconds_text(0.0456), "45.6 ms");
  EXPECT_EQ(seconds_text(12e-6), "12.0 us");
  EXPECT_EQ(seconds_text(310e-9), "310 ns");
  EXPECT_EQ(seconds_text(1360), "1,360 s");
  EXPECT_EQ(seconds_text(0), "0 s");
  EXPECT_EQ(seconds_text(-0.0123), "-12.3 ms");
  EXPECT_EQ(seconds_text(std::nan("")), "0 s");
}

TEST(Figures, UnitsChangeWhereTheRoundedFigureDoes) {
  EXPECT_EQ(seconds_text(0.9994), "999 ms");
  EXPECT_EQ(seconds_text(0.9996), "1.00 s");
  EXPECT_EQ(seconds_text(0.0009996), "1.00 ms");
  EXPECT_EQ(seconds_text(9.996e-3), "10.0 ms");
  EXPECT_EQ(seconds_text(99.96e-3), "100 ms");
  EXPECT_EQ(bytes_text(1048575), "1.00 MiB");
}

TEST(Figures, PercentBytesAndCounts) {
  EXPECT_EQ(percent_text(12.34), "12.3%");
  EXPECT_EQ(percent_text(0.04), "<0.1%");
  EXPECT_EQ(percent_text(0.05), "0.1%");
  EXPECT_EQ(percent_text(0), "0%");
  EXPECT_EQ(percent_text(-3), "-3.0%");
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(1), "1 byte");
  EXPECT_EQ(bytes_text(1023), "1,023 bytes");
  EXPECT_EQ(bytes_text(4096), "4.00 KiB");
  EXPECT_EQ(bytes_text(std::numeric_limits<uint64_t>::max()), "16.0 EiB");
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(75'000'000), "75,000,000");
  EXPECT_EQ(counted(1, "problem"), "1 problem");
  EXPECT_EQ(counted(5000, "problem"), "5,000 problems");
  EXPECT_EQ(overhead_text(1.0499), "1.05x");
}

}  // namespace
}  // namespace diogenes
