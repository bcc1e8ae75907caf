#include "analysis/symbols/python_lines.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace diogenes {
namespace {

int line(uint16_t version, const std::vector<uint8_t>& table, int first_line, uint32_t instruction) {
  CodeTable::Code code;
  code.version = version;
  code.first_line = first_line;
  code.lines = table;
  return position_of(code, instruction).line;
}

// Lines 10, 11, 13 begin at the bytes 0, 4, 10: three entries, the first for what lies before line 10's code.
TEST(PythonLines, OfDifferencesOf3_8) {
  const std::vector<uint8_t> table = {0, 1, 4, 1, 6, 2};
  EXPECT_EQ(line(0x0308, table, 9, 0), 10);
  EXPECT_EQ(line(0x0309, table, 9, 1), 10);
  EXPECT_EQ(line(0x0309, table, 9, 2), 11);
  EXPECT_EQ(line(0x0308, table, 9, 4), 11);
  EXPECT_EQ(line(0x0308, table, 9, 5), 13);
  EXPECT_EQ(line(0x0308, table, 9, 5000), 13);
}

// Back by two lines, as at the end of a loop; 300 lines on, which takes three entries; 260 bytes on, two.
TEST(PythonLines, OfLargeDifferencesOf3_8) {
  EXPECT_EQ(line(0x0309, {8, 3, 6, 0xfe}, 20, 5), 23);
  EXPECT_EQ(line(0x0309, {8, 3, 6, 0xfe}, 20, 7), 21);
  const std::vector<uint8_t> far = {6, 127, 0, 127, 0, 46, 255, 0, 5, 1};
  EXPECT_EQ(line(0x0308, far, 1, 2), 1);
  EXPECT_EQ(line(0x0308, far, 1, 3), 301);
  EXPECT_EQ(line(0x0308, far, 1, 132), 301);  // byte 264; the last entry begins at 266
  EXPECT_EQ(line(0x0308, far, 1, 133), 302);
}

// 4 bytes of line 5, 2 of none, 6 of line 7.
TEST(PythonLines, OfRangesOf3_10) {
  const std::vector<uint8_t> table = {4, 1, 2, 0x80, 6, 2};
  EXPECT_EQ(line(0x030a, table, 4, 0), 5);
  EXPECT_EQ(line(0x030a, table, 4, 1), 5);
  EXPECT_EQ(line(0x030a, table, 4, 2), 0);
  EXPECT_EQ(line(0x030a, table, 4, 3), 7);
  EXPECT_EQ(line(0x030a, table, 4, 5), 7);
}

PythonPosition position(const std::vector<uint8_t>& table, uint32_t instruction) {
  CodeTable::Code code;
  code.version = 0x030b;
  code.first_line = 100;
  code.lines = table;
  return position_of(code, instruction);
}

TEST(PythonLines, OfLocations) {
  const std::vector<uint8_t> table = {
      0x80 | 15 << 3 | 0,            // 1 unit without a location
      0x80 | 11 << 3 | 1, 4,    20,  // 2 units: a line further, columns 4 to 20
      0x80 | 1 << 3 | 3,  0x2a,      // 4 units: the same line, columns 8 + 2 to 10 + 10
      0x80 | 13 << 3 | 0, 0x07,      // 1 unit: 3 lines back, no columns
      0x80 | 14 << 3 | 7, 0x48, 0x03, 0x02, 0x01, 0x4a, 0x01,  // 8 units: 100 on, to 2 lines later, 0 to 73
  };
  EXPECT_EQ(position(table, 0), (PythonPosition{0, -1, -1}));
  EXPECT_EQ(position(table, 1), (PythonPosition{101, 4, 20}));
  EXPECT_EQ(position(table, 2), (PythonPosition{101, 4, 20}));
  EXPECT_EQ(position(table, 3), (PythonPosition{101, 10, 20}));
  EXPECT_EQ(position(table, 6), (PythonPosition{101, 10, 20}));
  EXPECT_EQ(position(table, 7), (PythonPosition{98, -1, -1}));
  EXPECT_EQ(position(table, 8), (PythonPosition{198, 0, 73}));
  EXPECT_EQ(position(table, 15), (PythonPosition{198, 0, 73}));
  EXPECT_EQ(position(table, 16), (PythonPosition{198, 0, 73}));  // behind the end: the last that is told
}

TEST(PythonLines, OfNoTableOrNoInstruction) {
  for (const uint16_t version : {0x0308, 0x030a, 0x030b}) {
    EXPECT_EQ(line(version, {}, 7, 3), 7);
    EXPECT_EQ(line(version, {4, 1}, 7, PythonFrame::kNoInstruction), 0);
  }
}

// A call is the same place before and after the interpreter has specialized it, which moves the instruction
// by its caches; two calls on one line are two places.
TEST(PythonLines, PlacesAreThoseOfTheText) {
  CodeTable::Code code;
  const std::vector<uint8_t> table = {0x80 | 10 << 3 | 4, 4, 20, 0x80 | 10 << 3 | 4, 22, 30};
  code.version = 0x030c;
  code.first_line = 3;
  code.lines = table;
  EXPECT_EQ(place_identity(code, 0), place_identity(code, 4));
  EXPECT_NE(place_identity(code, 4), place_identity(code, 5));
  const std::vector<uint8_t> older = {20, 0};
  code.version = 0x030a;
  code.lines = older;
  EXPECT_NE(place_identity(code, 0), place_identity(code, 4));
}

TEST(PythonLines, OfDamagedTablesAreSomeLine) {
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<uint8_t> table(random() % 40);
    for (uint8_t& byte : table) byte = static_cast<uint8_t>(random());
    const uint16_t version = static_cast<uint16_t>(0x0308 + random() % 7);
    EXPECT_GE(line(version, table, static_cast<int>(random() % 1000), random() % 100), -100'000);
  }
}

}  // namespace
}  // namespace diogenes
