#include "agent/watching/facts/content/found_addresses.h"

#include <algorithm>

#include "agent/core/memory/content.h"
#include "agent/watching/facts/facts_state.h"
#include "agent/watching/guard/threads/threads.h"

namespace diogenes::agent::facts {

namespace {

bool is_shared_and_given(const OperandRecord& operand) {
  return (operand.flags & kArgument) && operand.kind != MemoryKind::device;
}

bool hides_memory() {
  LockGuard guard(state().lock);
  bool hides = false;
  state().memory.for_each(
      [&](const Allocation& allocation) { hides |= is_host_side(allocation.kind) && !allocation.shared; });
  return hides;
}

struct Look {
  AddressBounds bounds;
  uint64_t at;
};

void look_at_piece(void* context, const void* piece, uint64_t bytes) {
  auto& look = *static_cast<Look*>(context);
  look_for_addresses(look.bounds, piece, bytes, look.at);
  look.at += bytes;
}

// False: it could not be read.
bool look_through(AddressRange block) {
  const Opened opened(block);
  Look look{known_memory(), block.begin};
  return opened.readable() && content_if_there({block.begin, block.size(), 1, block.size()}, nullptr,
                                               look_at_piece, &look, copy_watched_if_there);
}

}  // namespace

AddressBounds known_memory() {
  LockGuard guard(state().lock);
  return state().memory.bounds();
}

void look_for_addresses(const AddressBounds& bounds, const void* bytes, uint64_t count, uint64_t at) {
  const uint64_t head = std::min(-at & 7, count);  // a word of the device's need not be one here
  KernelAddresses named;
  named.clear();
  scan_words(static_cast<const char*>(bytes) + head, count - head, bounds, named);
  if (named.count == 0) return;
  LockGuard guard(state().lock);
  bool found = false;
  for (int i = 0; i < named.count; ++i) {
    Allocation* allocation = state().memory.near(named.address[i]);
    if (!allocation) continue;
    found = true;
    if (!is_host_side(allocation->kind)) continue;
    share(*allocation);
    allocation->found = state().found = true;
  }
  if (!found) return;
  // Kernels that are given this memory of the device's may reach other such memory. Variables are within every kernel's reach.
  Allocation* there = state().memory.find(at);
  if (there && !there->variable)
    there->holds_addresses |= there->kind == MemoryKind::device;
  else
    state().unlisted_memory = true;
}

void look_at_word(uint64_t at, uint64_t word) { look_for_addresses(known_memory(), &word, sizeof word, at); }

bool look_at_given(const Operands& operands) {
  const OperandRecord *begin = operands.list, *end = begin + operands.count;
  if (std::none_of(begin, end, is_shared_and_given) || !hides_memory()) return true;
  if (state().unnamed_reached) return false;  // where waits are corrected, guards stay up
  uint64_t bytes = 0;
  for (const OperandRecord* operand = begin; operand != end; ++operand) {
    if (!is_shared_and_given(*operand)) continue;
    bytes += operand->bytes;
    // The CPU may read managed memory at some times only.
    if (!is_host_side(operand->kind) || bytes > kMostSearched) return false;
    if (!look_through(AddressRange::of(operand->begin, operand->bytes))) return false;
  }
  return true;
}

}  // namespace diogenes::agent::facts
