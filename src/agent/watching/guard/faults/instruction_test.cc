// How far instructions reach: encodings as the assembler writes them, sizes from the manual.
#include "agent/watching/guard/faults/instruction.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace diogenes::agent {
namespace {

Reach reach(std::initializer_list<int> bytes) {
  std::vector<uint8_t> code(bytes.begin(), bytes.end());
  code.resize(15, 0x90);
  return reach_of(code.data(), static_cast<uint32_t>(code.size()));
}

TEST(Instruction, PlainMovesHaveTheirSize) {
  EXPECT_EQ(reach({0x88, 0x07}).bytes, 1u);                    // mov %al,(%rdi)
  EXPECT_EQ(reach({0x66, 0x89, 0x07}).bytes, 2u);              // mov %ax,(%rdi)
  EXPECT_EQ(reach({0x89, 0x07}).bytes, 4u);                    // mov %eax,(%rdi)
  EXPECT_EQ(reach({0x48, 0x8b, 0x07}).bytes, 8u);              // mov (%rdi),%rax
  EXPECT_EQ(reach({0x0f, 0xb6, 0x07}).bytes, 1u);              // movzbl (%rdi),%eax
  EXPECT_EQ(reach({0x48, 0x63, 0x07}).bytes, 4u);              // movslq (%rdi),%rax
  EXPECT_EQ(reach({0x80, 0x3f, 0x00}).bytes, 1u);              // cmpb $0,(%rdi)
  EXPECT_EQ(reach({0x83, 0x07, 0x01}).bytes, 4u);              // addl $1,(%rdi)
  EXPECT_EQ(reach({0xf0, 0x48, 0x0f, 0xc1, 0x07}).bytes, 8u);  // lock xadd %rax,(%rdi)
}

TEST(Instruction, Vectors) {
  EXPECT_EQ(reach({0xf3, 0x0f, 0x10, 0x07}).bytes, 4u);               // movss (%rdi),%xmm0
  EXPECT_EQ(reach({0xf2, 0x0f, 0x58, 0x07}).bytes, 8u);               // addsd (%rdi),%xmm0
  EXPECT_EQ(reach({0x0f, 0x11, 0x07}).bytes, 16u);                    // movups %xmm0,(%rdi)
  EXPECT_EQ(reach({0xc5, 0xfe, 0x6f, 0x07}).bytes, 32u);              // vmovdqu (%rdi),%ymm0
  EXPECT_EQ(reach({0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x07}).bytes, 64u);  // vmovdqu64 (%rdi),%zmm0
}

TEST(Instruction, RepeatedStringsSayHowLargeTheirElementsAre) {
  EXPECT_EQ(reach({0xf3, 0xa4}).element, 1u);        // rep movsb
  EXPECT_EQ(reach({0xf3, 0x66, 0xa5}).element, 2u);  // rep movsw
  EXPECT_EQ(reach({0xf3, 0xab}).element, 4u);        // rep stosl
  EXPECT_EQ(reach({0xf3, 0x48, 0xab}).element, 8u);  // rep stosq
  EXPECT_EQ(reach({0xf3, 0xac}).element, 1u);        // rep lodsb
  EXPECT_EQ(reach({0xa4}).element, 0u);              // movsb
  EXPECT_EQ(reach({0xf3, 0xa6}).element, 0u);        // repe cmpsb: may end early
  EXPECT_EQ(reach({0xf2, 0xae}).element, 0u);        // repne scasb
}

TEST(Instruction, StringsNameTheirOtherPlace) {
  EXPECT_TRUE(reach({0xf3, 0xa4}).string);        // rep movsb
  EXPECT_TRUE(reach({0xf3, 0x48, 0xab}).string);  // rep stosq
  EXPECT_FALSE(reach({0x89, 0x07}).string);
}

TEST(Instruction, WhatReachesElsewhereIsSaid) {
  EXPECT_TRUE(reach({0xc4, 0xe2, 0x6d, 0x92, 0x04, 0x87}).anywhere);        // vgatherdps
  EXPECT_TRUE(reach({0x62, 0xf2, 0x7d, 0x49, 0xa2, 0x04, 0x87}).anywhere);  // vscatterdps
  EXPECT_TRUE(reach({0x0f, 0xae, 0x27}).anywhere);                          // xsave (%rdi)
  EXPECT_TRUE(reach({0xdd, 0x37}).anywhere);                                // fnsave (%rdi)
  EXPECT_TRUE(reach({0xff, 0x37}).anywhere);                                // push (%rdi)
  EXPECT_TRUE(reach({0x66, 0x0f, 0xf7, 0xc1}).anywhere);                    // maskmovdqu
  uint8_t nothing = 0;
  EXPECT_TRUE(reach_of(&nothing, 0).anywhere);
}

}  // namespace
}  // namespace diogenes::agent
