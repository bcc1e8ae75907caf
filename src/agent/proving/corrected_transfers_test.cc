// Which copies can be made without waiting.
#include "agent/proving/corrected_transfers.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

namespace diogenes::agent::facts {
namespace {

constexpr uint64_t kHost = 0x7f0000001000, kDevice = 0x7e0000000000, kBytes = 0x3000;

std::unique_ptr<DecodedCall> copied(MemoryKind host, bool to_host) {
  auto decoded = std::make_unique<DecodedCall>();
  decoded->is_transfer = decoded->transfer.decoded = true;
  decoded->transfer.width = kBytes;
  TransferOperand& near = to_host ? decoded->destination : decoded->source;
  TransferOperand& far = to_host ? decoded->source : decoded->destination;
  near.kind = host;
  near.host.range = AddressRange::of(kHost, kBytes);
  far.kind = MemoryKind::device;
  far.host.range = AddressRange::of(kDevice, kBytes);
  return decoded;
}

Undeferred why(const DecodedCall& decoded, bool asynchronous = false) {
  CorrectedTransfer transfer;
  return corrected_transfer(decoded, asynchronous, transfer);
}

TEST(CorrectedTransfers, OfPageableMemoryAreStaged) {
  CorrectedTransfer transfer;
  ASSERT_EQ(corrected_transfer(*copied(MemoryKind::pageable, true), false, transfer), Undeferred::none);
  EXPECT_TRUE(transfer.staged && transfer.to_host);
  EXPECT_EQ(transfer.host, kHost);
  EXPECT_EQ(transfer.device, kDevice);
  EXPECT_EQ(transfer.bytes, kBytes);
  ASSERT_EQ(corrected_transfer(*copied(MemoryKind::pageable, false), true, transfer), Undeferred::none);
  EXPECT_TRUE(transfer.staged && !transfer.to_host);
}

TEST(CorrectedTransfers, OfPinnedMemoryGoByThemselves) {
  CorrectedTransfer transfer;
  ASSERT_EQ(corrected_transfer(*copied(MemoryKind::pinned, true), false, transfer), Undeferred::none);
  EXPECT_FALSE(transfer.staged);
  EXPECT_EQ(why(*copied(MemoryKind::pinned, true), true), Undeferred::form);  // it does not wait
}

TEST(CorrectedTransfers, NeedOneRowBetweenHostAndDevice) {
  auto rows = copied(MemoryKind::pageable, true);
  rows->transfer.height = 2;
  EXPECT_EQ(why(*rows), Undeferred::form);
  EXPECT_EQ(why(*copied(MemoryKind::device, true)), Undeferred::form);
  EXPECT_EQ(why(*copied(MemoryKind::managed, true)), Undeferred::form);
  EXPECT_EQ(why(*copied(MemoryKind::unknown, false)), Undeferred::form);
}

TEST(CorrectedTransfers, FillsAreOfTheHostsMemory) {
  const auto filled = [](MemoryKind kind) {
    auto fill = copied(kind, true);
    fill->source = {};
    fill->transfer.fill = true;
    fill->transfer.destination = kDevice;  // where the GPU has it
    return fill;
  };
  CorrectedTransfer transfer;
  for (const MemoryKind kind : {MemoryKind::managed, MemoryKind::pinned}) {
    ASSERT_EQ(corrected_transfer(*filled(kind), false, transfer), Undeferred::none);
    EXPECT_EQ(transfer.device, kDevice);
    EXPECT_EQ(transfer.host, kHost);
    EXPECT_EQ(transfer.bytes, kBytes);
    EXPECT_FALSE(transfer.staged);
    EXPECT_EQ(why(*filled(kind), true), Undeferred::form);  // it does not wait
  }
  EXPECT_EQ(why(*filled(MemoryKind::device)), Undeferred::form);
  auto rows = filled(MemoryKind::managed);
  rows->transfer.height = 2;
  EXPECT_EQ(why(*rows), Undeferred::form);
  auto beyond = filled(MemoryKind::managed);
  beyond->destination.host.range.end -= 1;
  EXPECT_EQ(why(*beyond), Undeferred::unknown_memory);
}

TEST(CorrectedTransfers, MustNotReachBehindAnAllocation) {
  auto beyond = copied(MemoryKind::pinned, true);
  beyond->destination.host.range.end -= 1;
  EXPECT_EQ(why(*beyond), Undeferred::unknown_memory);
}

TEST(CorrectedTransfers, NeedResultsThatCanBeGuarded) {
  auto small = copied(MemoryKind::pageable, true);
  small->destination.host.method = WatchMethod::watchpoints;
  EXPECT_EQ(why(*small), Undeferred::small);
  auto shared = copied(MemoryKind::pageable, true);
  shared->destination.host.refusal = WatchRefusal::shared_memory;
  EXPECT_EQ(why(*shared), Undeferred::unguarded);
  // What is staged is read at once, wherever it lies.
  auto source = copied(MemoryKind::pageable, false);
  source->source.host.refusal = WatchRefusal::shared_memory;
  EXPECT_EQ(why(*source), Undeferred::none);
}

// The C library's own words lie beside it on the same page.
TEST(CorrectedTransfers, OfResultsOnTheHeapNeedWholePages) {
  void* small = malloc(100);
  const auto heap = reinterpret_cast<uint64_t>(small) & ~uint64_t{4095};
  free(small);
  auto inside = copied(MemoryKind::pageable, true);
  inside->destination.host.range = AddressRange::of(heap + 16, kBytes);
  EXPECT_EQ(why(*inside), Undeferred::small);
  inside->destination.host.range = AddressRange::of(heap, kBytes);
  EXPECT_EQ(why(*inside), Undeferred::none);
  inside->destination.host.range = AddressRange::of(kHost + 16, kBytes);
  EXPECT_EQ(why(*inside), Undeferred::none);
}

}  // namespace
}  // namespace diogenes::agent::facts
