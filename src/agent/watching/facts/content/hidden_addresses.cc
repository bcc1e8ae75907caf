#include "agent/watching/facts/content/hidden_addresses.h"

#include "agent/core/memory/content.h"
#include "agent/watching/facts/content/transfer_contents.h"
#include "agent/watching/facts/decoding/transfer_operands.h"
#include "agent/watching/facts/facts_state.h"

namespace diogenes::agent::facts {

namespace {

constexpr uint64_t kBytes = 64 << 10;  // looked through at each launch, or copy: some microseconds

// Blocks that a kernel reaches, and looks for addresses in.
class Reached {
 public:
  // Under the collector's lock.
  void add(const Allocation& allocation) {
    for (int i = 0; i < count_; ++i)
      if (blocks_[i] == allocation.range) return;
    bytes_ += allocation.range.size();
    // The CPU may read managed memory at some times only.
    too_much_ |= count_ == kBlocks || bytes_ > kBytes || !is_host_side(allocation.kind);
    if (!too_much_) blocks_[count_++] = allocation.range;
  }
  bool too_much() const { return too_much_; }
  bool next(AddressRange& block) {
    if (looked_at_ == count_) return false;
    block = blocks_[looked_at_++];
    return true;
  }

 private:
  static constexpr int kBlocks = 64;
  AddressRange blocks_[kBlocks];
  int count_ = 0, looked_at_ = 0;
  uint64_t bytes_ = 0;
  bool too_much_ = false;
};

struct Look {
  AddressBounds bounds;
  uint64_t at;  // of the next piece
  Reached* reached;
};

void look_at_piece(void* context, const void* piece, uint64_t bytes) {
  Look& look = *static_cast<Look*>(context);
  KernelAddresses named;
  named.clear();
  scan_words(piece, bytes, look.at, look.bounds, named);
  look.at += bytes;
  if (named.count == 0) return;
  LockGuard guard(state().lock);
  if (named.unknown) share_all_host_memory();
  for (int i = 0; i < named.count; ++i) {
    Allocation* allocation = state().memory.near(named.address[i]);
    if (!allocation || allocation->kind == MemoryKind::device) continue;
    share(*allocation);
    look.reached->add(*allocation);
  }
}

// False: it could not be read.
bool look_through(AddressRange block, Reached& reached) {
  Look look{{}, block.begin, &reached};
  {
    LockGuard guard(state().lock);
    look.bounds = state().memory.bounds();
  }
  const Opened opened(block);
  return opened.readable() && content_if_there({block.begin, block.size(), 1, block.size()}, nullptr,
                                               look_at_piece, &look, copy_watched_if_there);
}

bool hides_memory() {
  bool hides = false;
  state().memory.for_each(
      [&](const Allocation& allocation) { hides |= is_host_side(allocation.kind) && !allocation.shared; });
  return hides;
}

// A large source of a copy, and how much of the host's memory it could name when it was looked through.
struct LargeSource {
  AddressRange range;
  uint32_t host_allocations;
};
LargeSource large_sources[256];

bool was_looked_through(AddressRange source) {
  LargeSource& known = large_sources[(source.begin >> 12) * 0x9e3779b97f4a7c15 >> 56];
  LockGuard guard(state().lock);
  const LargeSource now{source, state().host_allocations};
  if (known.range == now.range && known.host_allocations == now.host_allocations) return true;
  known = now;
  return false;
}

}  // namespace

void look_at_upload(const DecodedCall& decoded) {
  if (!copies_to_device(decoded)) return;
  const TransferArguments& copy = decoded.transfer;
  if (copy.bytes() > kBytes && was_looked_through(AddressRange::of(copy.source, copy.source_span()))) return;
  if (!look_for_addresses(copy)) note_any_address(copy.destination);
}

bool reaches_any_host_memory(const Operands& operands, bool anything) {
  Reached reached;
  {
    LockGuard guard(state().lock);
    if (state().shared == 0 || !hides_memory()) return false;
    for (int i = 0; i < operands.count; ++i)
      if (operands.list[i].kind != MemoryKind::device)
        if (const Allocation* given = state().memory.find(operands.list[i].begin)) reached.add(*given);
    if (anything)
      state().memory.for_each([&](const Allocation& allocation) {
        if (allocation.shared) reached.add(allocation);
      });
  }
  for (AddressRange block; !reached.too_much() && reached.next(block);)
    if (!look_through(block, reached)) return true;
  return reached.too_much();
}

}  // namespace diogenes::agent::facts
