// Memory by its address and by its content: bounds, mappings, hashes; and the hash table of fixed size.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "agent/core/memory/address_bounds.h"
#include "agent/core/memory/content.h"
#include "agent/core/memory/mappings.h"
#include "base/fixed_map.h"

namespace diogenes::agent {
namespace {

TEST(FixedMap, BehavesLikeAMap) {
  auto map = std::make_unique<FixedMap<int, 64>>();
  std::map<uint64_t, int> model;
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) {
    uint64_t key = 1 + random() % 60;
    if (random() % 2) {
      bool inserted = map->insert(key, i) != nullptr;
      EXPECT_TRUE(inserted || model.size() == 48);
      if (inserted) model[key] = i;
    } else {
      map->erase(key);
      model.erase(key);
    }
    uint64_t asked = 1 + random() % 60;
    int* found = map->find(asked);
    ASSERT_EQ(found != nullptr, model.count(asked) > 0);
    if (found) {
      ASSERT_EQ(*found, model[asked]);
    }
  }
}

TEST(AddressBounds, FarStretchesLeaveWhatLiesBetween) {
  AddressBounds bounds{};
  bounds.add({0x3'0200'0000, 0x3'0220'0000});        // a pool
  bounds.add({0x7f00'0000'0000, 0x7f00'0020'0000});  // device memory
  bounds.add({0x7f00'2000'0000, 0x7f00'2020'0000});  // more of it: half a GiB on
  EXPECT_TRUE(bounds.contain(0x3'0210'0000));
  EXPECT_TRUE(bounds.contain(0x3'0200'0000 - AddressBounds::kBelow));
  EXPECT_FALSE(bounds.contain(0x3'0200'0000 - AddressBounds::kBelow - 1));
  EXPECT_FALSE(bounds.contain(0x3'0220'0000));
  EXPECT_FALSE(bounds.contain(0x5'0000'0001));    // two small numbers, side by side
  EXPECT_TRUE(bounds.contain(0x7f00'1000'0000));  // between two that are near to each other
}

// More of them than are kept apart: the nearest become one, and none is lost.
TEST(AddressBounds, ManyStretches) {
  AddressBounds bounds{};
  for (uint64_t i = 1; i <= 3 * AddressBounds::kStretches; ++i) bounds.add({i << 36, (i << 36) + 0x1000});
  for (uint64_t i = 1; i <= 3 * AddressBounds::kStretches; ++i)
    EXPECT_TRUE(bounds.contain((i << 36) + 8)) << i;
  EXPECT_FALSE(bounds.contain(0x1000));
}

// One that reaches from one stretch to another takes both in.
TEST(AddressBounds, StretchesThatMeet) {
  AddressBounds bounds{};
  bounds.add({0x10'0000'0000, 0x10'0000'1000});
  bounds.add({0x20'0000'0000, 0x20'0000'1000});
  bounds.add({0x10'0000'0800, 0x20'0000'0800});
  for (uint64_t word : {0x10'0000'0000, 0x18'0000'0000, 0x20'0000'0800}) EXPECT_TRUE(bounds.contain(word));
  EXPECT_FALSE(bounds.contain(0x20'0000'1000));
}

TEST(Regions, PrivateSharedAndStack) {
  constexpr size_t kBytes = 16 * kPageSize;
  auto range = [](void* memory) { return AddressRange::of(reinterpret_cast<uintptr_t>(memory), kBytes); };
  void* own = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* shared = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  std::vector<char> heap(kBytes);
  char local[kBytes];
  for (auto ask : {+[](AddressRange one) { return mapping_kind(one); },
                   +[](AddressRange one) { return mapping_kind_by_maps(one); }}) {
    EXPECT_EQ(ask(range(own)), MappingKind::private_memory);
    EXPECT_EQ(ask(range(shared)), MappingKind::shared_memory);
    EXPECT_EQ(ask(range(heap.data())), MappingKind::private_memory);
    EXPECT_EQ(ask(range(local)), MappingKind::stack);
    EXPECT_EQ(ask({0x1000, 0x2000}), MappingKind::unknown);
  }
  // What others write to a file is seen in its mappings, until they are written themselves.
  FILE* file = tmpfile();
  ASSERT_TRUE(file && ftruncate(fileno(file), kBytes) == 0);
  void* of_file = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);
  EXPECT_EQ(mapping_kind(range(of_file)), MappingKind::private_file);
  EXPECT_EQ(mapping_kind_by_maps(range(of_file)), MappingKind::private_file);
  munmap(of_file, kBytes);
  fclose(file);
  // Split by a guard: still the same memory.
  mprotect(static_cast<char*>(own) + 4 * kPageSize, kPageSize, PROT_NONE);
  EXPECT_EQ(mapping_kind(range(own)), MappingKind::private_memory);
  EXPECT_EQ(mapping_kind_by_maps(range(own)), MappingKind::private_memory);
  // Not where it is to be registered: nobody else has closed it.
  EXPECT_EQ(mapping_kind_now(range(own)), MappingKind::unknown);
  mprotect(own, kBytes, PROT_READ | PROT_WRITE);
  EXPECT_EQ(mapping_kind_now(range(own)), MappingKind::private_memory);
  mprotect(static_cast<char*>(own) + kPageSize, kPageSize, PROT_READ | PROT_WRITE | PROT_EXEC);
  EXPECT_EQ(mapping_kind_now(range(own)), MappingKind::unknown);
  EXPECT_EQ(mapping_kind_by_maps(range(own)), MappingKind::unknown);
  // Shared memory comes where private memory was.
  EXPECT_EQ(mmap(own, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0), own);
  EXPECT_EQ(mapping_kind_now(range(own)), MappingKind::shared_memory);
  munmap(own, kBytes);
  munmap(shared, kBytes);
}

TEST(Content, RowsAreHashedInOrder) {
  std::vector<char> pitched(1024), packed(512);
  for (size_t i = 0; i < pitched.size(); ++i) pitched[i] = static_cast<char>(i / 64);
  for (size_t row = 0; row < 8; ++row) memcpy(&packed[64 * row], &pitched[128 * row], 64);
  auto address = [](const std::vector<char>& memory) { return reinterpret_cast<uint64_t>(memory.data()); };
  const Rows rows{address(pitched), 64, 8, 128}, whole{address(packed), 512, 1, 512};
  const Content expected = content_of(packed.data(), packed.size());
  const auto directly = [](void* to, const void* from, uint64_t bytes) {
    return memcpy(to, from, bytes) != nullptr;
  };
  for (const Rows& read : {rows, whole}) {
    Content through_the_kernel, by_itself;
    ASSERT_TRUE(content_if_there(read, &through_the_kernel));
    EXPECT_EQ(through_the_kernel, expected);
    ASSERT_TRUE(content_if_there(read, &by_itself, nullptr, nullptr, directly));
    EXPECT_EQ(by_itself, expected);
  }
}

// In pieces of 1 KiB, as the agent reads them.
Pattern pattern_of(const std::vector<uint8_t>& bytes) {
  PatternFinder finder;
  for (size_t at = 0; at < bytes.size(); at += 1024)
    finder.look(bytes.data() + at, std::min<size_t>(1024, bytes.size() - at));
  return finder.found();
}

TEST(PatternFinder, FindsValuesOfOneTwoAndFourBytes) {
  std::vector<uint8_t> bytes(5000, 0);
  EXPECT_EQ(pattern_of(bytes).bytes, 1);
  EXPECT_EQ(pattern_of(bytes).value, 0u);
  bytes.assign(5001, 0xff);
  EXPECT_EQ(pattern_of(bytes).bytes, 1);
  EXPECT_EQ(pattern_of(bytes).value, 0xffu);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i % 2 + 1);
  EXPECT_EQ(pattern_of(bytes).bytes, 2);
  EXPECT_EQ(pattern_of(bytes).value, 0x0201u);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i % 4);
  EXPECT_EQ(pattern_of(bytes).bytes, 4);
  EXPECT_EQ(pattern_of(bytes).value, 0x03020100u);
}

TEST(PatternFinder, OneOtherByteAnywhereIsNone) {
  for (size_t at : {0u, 3u, 1023u, 1024u, 4999u}) {
    std::vector<uint8_t> bytes(5000, 7);
    bytes[at] = 8;
    EXPECT_EQ(pattern_of(bytes).bytes, 0) << at;
  }
}

TEST(PatternFinder, FewBytesRepeatNothingUnlessTheyAreAllEqual) {
  EXPECT_EQ(pattern_of({}).bytes, 0);
  EXPECT_EQ(pattern_of({5}).bytes, 1);
  EXPECT_EQ(pattern_of({0, 0, 0, 0}).bytes, 1);
  EXPECT_EQ(pattern_of({1, 2, 3, 4}).bytes, 0);  // a number like any other
  EXPECT_EQ(pattern_of({1, 2, 1, 2, 1, 2, 1, 2}).bytes, 0);
  EXPECT_EQ(pattern_of({1, 1, 1}).bytes, 1);
  EXPECT_EQ(pattern_of({1, 1, 2}).bytes, 0);
}

TEST(Content, MemoryThatIsGoneIsNotRead) {
  void* memory = mmap(nullptr, 2 * kPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto address = reinterpret_cast<uint64_t>(memory);
  munmap(static_cast<char*>(memory) + kPageSize, kPageSize);
  Content content;
  EXPECT_TRUE(content_if_there({address, kPageSize}, &content));
  EXPECT_FALSE(content_if_there({address, 2 * kPageSize}, &content));
  EXPECT_FALSE(content_if_there({0, 64}, &content));
  munmap(memory, kPageSize);
}

}  // namespace
}  // namespace diogenes::agent
