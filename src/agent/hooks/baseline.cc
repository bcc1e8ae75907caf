#include "agent/hooks/baseline.h"

#include <atomic>

#include "agent/core/recording/process_folder.h"

namespace diogenes::agent {

namespace {
constexpr size_t kPaths = 4096;
std::atomic<uint32_t> entered[kPaths];  // by hash of (caller, stack pointer)
std::atomic<uint64_t> stacks[1 << 14];  // seen: folder generation and stack, 0: empty
}  // namespace

bool wait_stack_is_due(uint64_t caller, uintptr_t stack_pointer) {
  uint64_t hash = (caller * 0x9e3779b97f4a7c15) ^ (stack_pointer * 0xff51afd7ed558ccd);
  uint32_t count = entered[(hash >> 40) % kPaths].fetch_add(1, std::memory_order_relaxed);
  return count < 16 || (count & (count - 1)) == 0;  // then 16, 32, 64, ...
}

bool first_sight_of(uint32_t stack) {
  constexpr size_t kSize = sizeof stacks / sizeof stacks[0];
  uint64_t wanted = static_cast<uint64_t>(folder_generation()) << 32 | stack;
  for (size_t probe = 0, at = stack * 2654435761u % kSize; probe < 64; ++probe, at = (at + 1) % kSize) {
    uint64_t expected = 0;
    if (stacks[at].compare_exchange_strong(expected, wanted, std::memory_order_relaxed)) return true;
    if (expected == wanted) return false;
  }
  return true;  // the table is crowded: a record too many is no harm
}

}  // namespace diogenes::agent
