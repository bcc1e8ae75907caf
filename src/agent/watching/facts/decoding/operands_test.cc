// Lists of operands, written and read back.
#include "agent/watching/facts/decoding/operands.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>

#include "agent/core/recording/process_folder.h"

namespace diogenes::agent {

namespace {
unsigned char* file = nullptr;
}

bool open_process_folder() { return true; }
void* map_file_part(const char*, uint64_t, size_t bytes, void* where) {
  void* memory = mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (!file) file = static_cast<unsigned char*>(memory);
  return memory;
}

namespace facts {
namespace {

Operands list(std::initializer_list<AddressRange> ranges) {
  Operands operands;
  operands.clear();
  for (AddressRange range : ranges) operands.add(range, MemoryKind::device, kReads);
  return operands;
}

TEST(Operands, EqualListsAreWrittenOnce) {
  bool lost = false;
  uint32_t one = intern_operands(list({{0x1000, 0x2000}}), &lost);
  uint32_t other = intern_operands(list({{0x1000, 0x3000}}), &lost);
  EXPECT_NE(one, 0u);
  EXPECT_NE(one, other);
  EXPECT_EQ(intern_operands(list({{0x1000, 0x2000}}), &lost), one);
  EXPECT_FALSE(lost);
  auto* header = reinterpret_cast<const OperandListHeader*>(file + uint64_t{one} * 8);
  EXPECT_EQ(header->count, 2u);
  auto* operand = reinterpret_cast<const OperandRecord*>(header + 1);
  EXPECT_EQ(operand->begin, 0x1000u);
  EXPECT_EQ(operand->bytes, 0x1000u);
}

TEST(Operands, AnEmptyListIsNone) {
  bool lost = false;
  EXPECT_EQ(intern_operands(list({}), &lost), 0u);
  EXPECT_FALSE(lost);
}

TEST(Operands, AccessesOfOneRangeAreOneOperand) {
  Operands operands = list({{0x1000, 0x2000}});
  operands.add({0x1000, 0x2000}, MemoryKind::device, kWrites);
  ASSERT_EQ(operands.count, 1);
  EXPECT_EQ(operands.list[0].flags, kReads | kWrites);
}

TEST(Operands, AListThatIsFullSaysThatItMayBeAnything) {
  Operands operands = list({});
  for (uint64_t i = 0; i <= Operands::kMaximum; ++i)
    operands.add(AddressRange::of(0x1000 + i * 64, 64), MemoryKind::managed, kReads);
  EXPECT_EQ(operands.count, Operands::kMaximum);
  EXPECT_EQ(operands.flags, kAnyDevice | kAnyHost);
}

}  // namespace
}  // namespace facts
}  // namespace diogenes::agent
