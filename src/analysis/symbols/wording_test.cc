#include "analysis/symbols/wording.h"

#include <gtest/gtest.h>

namespace diogenes {
namespace {

TEST(Words, NumbersAreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(counted(1, "wait", "waits"), "1 wait");
  EXPECT_EQ(counted(5000, "wait", "waits"), "5,000 waits");
}

TEST(Words, PlacesAreTheInnermostLine) {
  std::vector<ReportFrame> stack = {{"cudaFree", "", 0, "/lib/libcudart.so", 0x10},
                                    {"solve(int)", "/src/als.cpp", 812, "/app", 0x20},
                                    {"main", "/src/main.cpp", 3, "/app", 0x30}};
  EXPECT_EQ(place_of(stack), "als.cpp:812");
  EXPECT_EQ(place_in_title(stack), "als.cpp at line 812");
  EXPECT_EQ(place_of({{"f", "", 0, "/bin/app", 1}}), "f in app");
  EXPECT_EQ(place_of({{"", "", 0, "/bin/app", 0x1f}}), "app+0x1f");
  EXPECT_EQ(place_of({}), "");
}

}  // namespace
}  // namespace diogenes
