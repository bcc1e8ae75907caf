#include "ptx.h"

#include <gtest/gtest.h>

namespace diogenes::sim {
namespace {

TEST(Ptx, OffsetsFollowAlignment) {
  // u32 at 0; u64 at 8; 12 bytes aligned to 4 at 16; u8 at 28; f64 at 32.
  const auto entries = parse_ptx(
      ".version 7.0 // .entry no(\n.target sm_70\n/* .entry neither() */\n.func helper(.reg .u64 x) { ret; "
      "}\n"
      ".visible .entry five(.param .u32 a, .param .u64 .ptr .global .align 8 b, .param .align 4 .b8 c[12],\n"
      "  .param .u8 d, .param .f64 e)\n{ ret; }\n.entry none\n{ ret; }\n");
  ASSERT_TRUE(entries);
  ASSERT_EQ(2u, entries->size());
  const PtxEntry& five = (*entries)[0];
  EXPECT_EQ("five", five.name);
  ASSERT_EQ(5u, five.parameters.size());
  const size_t offsets[] = {0, 8, 16, 28, 32}, sizes[] = {4, 8, 12, 1, 8};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(offsets[i], five.parameters[i].offset);
    EXPECT_EQ(sizes[i], five.parameters[i].bytes);
  }
  EXPECT_EQ("none", (*entries)[1].name);
  EXPECT_TRUE((*entries)[1].parameters.empty());
}

TEST(Ptx, Variables) {
  const auto variables = parse_ptx_variables(
      ".version 7.0 .target sm_70\n.visible .global .attribute(.managed) .align 4 .b8 shared_data[64];\n"
      ".global .align 4 .u32 counter; .global .f64 grid[2][3];\n"
      ".extern .global .u32 elsewhere; .global .align 1 .b8 text[3] = {1, 2, 0};\n"
      ".visible .entry one(.param .u64 .ptr .global .align 8 b) { ld.global.u32 %r1, [counter]; }\n");
  ASSERT_EQ(3u, variables.size());
  EXPECT_EQ("shared_data", variables[0].name);
  EXPECT_EQ(64u, variables[0].bytes);
  EXPECT_TRUE(variables[0].managed);
  EXPECT_EQ("counter", variables[1].name);
  EXPECT_EQ(4u, variables[1].bytes);
  EXPECT_FALSE(variables[1].managed);
  EXPECT_EQ("grid", variables[2].name);
  EXPECT_EQ(48u, variables[2].bytes);
}

TEST(Ptx, WhatIsNoPtx) {
  EXPECT_FALSE(parse_ptx(""));
  EXPECT_FALSE(parse_ptx("hello"));
  EXPECT_FALSE(parse_ptx(".version 7.0 .target sm_70 .entry open(.param .u64 a"));
}

}  // namespace
}  // namespace diogenes::sim
