// Attributes by hand.
#include "analysis/cubins/branch_tables.h"

#include <gtest/gtest.h>

#include "driver/testing/cubin_builder.h"

namespace diogenes {
namespace {

using Bytes = std::vector<uint8_t>;
using Targets = std::vector<BranchTarget>;

Targets targets_of(const Bytes& attributes, const std::string& name = ".nv.info.k") {
  testing::CubinBuilder builder(90);
  builder.section(name, SHT_LOPROC, attributes, 3);
  const Bytes bytes = builder.build();
  return read_branch_targets(*CubinFile::read(bytes));
}

Bytes with_records(const std::vector<uint32_t>& records, uint16_t size) {
  // Attributes with a value of their own: without, of 8 bits, of 16 bits.
  Bytes bytes{1, 0x35, 0, 0, 2, 0x4a, 0, 0, 3, 0x1b, 0xff, 0, 4, 0x1c, 4, 0, 0x34, 4, 0x34, 4};
  bytes.insert(bytes.end(), {4, 0x34});
  testing::CubinBuilder::append(bytes, size);
  for (const uint32_t one : records) testing::CubinBuilder::append(bytes, one);
  return bytes;
}

TEST(BranchTables, RecordsOneAfterTheOther) {
  const std::vector<uint32_t> records{0x150, 0, 3, 0x220, 0x1f0, 0x1f0, 0x2e0, 0, 1, 0x550};
  const Targets expected{{3, 0x150, 0x1f0}, {3, 0x150, 0x220}, {3, 0x2e0, 0x550}};
  EXPECT_EQ(targets_of(with_records(records, 40)), expected);
  EXPECT_TRUE(targets_of(with_records(records, 40), ".nv.merc.nv.info.k").empty());
}

TEST(BranchTables, WhatIsCutIsLeftOut) {
  // More targets than there are; a value that is longer than the section.
  EXPECT_EQ(targets_of(with_records({0x150, 0, 0xffffffff, 0x220}, 16)), (Targets{{3, 0x150, 0x220}}));
  EXPECT_EQ(targets_of(with_records({0x150, 0, 2, 0x220}, 0xffff)), (Targets{{3, 0x150, 0x220}}));
  const Bytes whole = with_records({0x150, 0, 1, 0x220}, 16);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_TRUE(targets_of({whole.begin(), whole.begin() + static_cast<int64_t>(size)}).empty()) << size;
}

}  // namespace
}  // namespace diogenes
