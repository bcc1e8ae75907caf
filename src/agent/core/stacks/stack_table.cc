// Two keys lead to a stack: the hash of its addresses with the module map's generation (found without a
// lock), and the hash of its modules and offsets (so that the same code after a dlclose and dlopen is the
// same stack). Both live in one open-addressing table; an entry is written once, value before key.
#include "agent/core/stacks/stack_table.h"

#define XXH_INLINE_ALL
#include <sys/mman.h>
#include <xxhash.h>

#include <atomic>
#include <cstring>

#include "agent/core/recording/module_map.h"
#include "agent/core/recording/process_folder.h"
#include "agent/core/recording/recorder.h"
#include "base/clear_pages.h"
#include "trace/format.h"

namespace diogenes::agent {

namespace {

struct Entry {
  std::atomic<uint64_t> key;
  std::atomic<uint32_t> stack;
};
constexpr size_t kEntries = 1 << 19;             // 8 MiB of zero pages, touched as used
constexpr size_t kMaximumFileBytes = 256 << 20;  // reserved address space
constexpr size_t kPartBytes = 256 << 10;
Entry entries[kEntries];
size_t used_entries = 0;
uint8_t* file_memory = nullptr;
size_t mapped_bytes = 0, used_bytes = 0;
Lock lock;

uint64_t hash_of(const void* data, size_t bytes, uint64_t seed) {
  const uint64_t hash = (XXH3_64bits(data, bytes) ^ seed) * 0x9e3779b97f4a7c15;
  return hash ? hash : 1;
}

uint64_t key_of(const uintptr_t* addresses, int count) {
  return hash_of(addresses, static_cast<size_t>(count) * sizeof(uintptr_t),
                 static_cast<uint64_t>(module_generation()) << 32 | static_cast<uint32_t>(count));
}

uint32_t find(uint64_t key) {
  for (size_t probe = 0, at = key % kEntries; probe < 64; ++probe, at = (at + 1) % kEntries) {
    // acquire pairs with the release in insert(): the key is stored after the value.
    uint64_t found = entries[at].key.load(std::memory_order_acquire);
    if (found == key) return entries[at].stack.load(std::memory_order_relaxed);
    if (found == 0) return kNoStack;
  }
  return kNoStack;
}

bool insert(uint64_t key, uint32_t stack) {
  for (size_t probe = 0, at = key % kEntries; probe < 64; ++probe, at = (at + 1) % kEntries) {
    if (entries[at].key.load(std::memory_order_relaxed) != 0) continue;
    entries[at].stack.store(stack, std::memory_order_relaxed);
    entries[at].key.store(key, std::memory_order_release);
    ++used_entries;
    return true;
  }
  return false;
}

bool reserve() {
  if (file_memory) return true;
  void* memory =
      mmap(nullptr, kMaximumFileBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  file_memory = static_cast<uint8_t*>(memory);
  return true;
}

uint32_t write_stack(const Frame* frames, int count, uint32_t cut) {
  if (!open_process_folder() || !reserve()) return kNoStack;
  size_t bytes = sizeof(StackHeader) + static_cast<size_t>(count) * sizeof(Frame);
  if (used_bytes + bytes + sizeof(FileHeader) > mapped_bytes) {
    if (mapped_bytes + kPartBytes > kMaximumFileBytes ||
        !map_file_part("stacks", mapped_bytes, kPartBytes, file_memory + mapped_bytes))
      return kNoStack;
    mapped_bytes += kPartBytes;
  }
  if (used_bytes == 0) {
    FileHeader header{};
    memcpy(header.magic, kTraceMagic, sizeof kTraceMagic);
    header.version = kTraceVersion;
    memcpy(file_memory, &header, sizeof header);
    used_bytes = sizeof header;
  }
  uint8_t* to = file_memory + used_bytes;
  memcpy(to + sizeof(StackHeader), frames, static_cast<size_t>(count) * sizeof(Frame));
  StackHeader header{static_cast<uint32_t>(count), cut};
  uint64_t word;
  memcpy(&word, &header, sizeof word);
  __atomic_store_n(reinterpret_cast<uint64_t*>(to), word,
                   __ATOMIC_RELEASE);  // pairs with the reader's check for zero
  auto index = static_cast<uint32_t>(used_bytes / 8);
  used_bytes += bytes;
  return index;
}

uint32_t add(const uintptr_t* addresses, int count, bool cut, uint64_t raw_key) {
  if (uint32_t stack = find(raw_key); stack != kNoStack) return stack;
  static Frame frames[kMaximumFrames];  // under the lock; the program's stack may be small
  for (int i = 0; i < count; ++i) {
    uint32_t index = 0;
    const ModuleRecord* module = find_module(addresses[i], &index);
    frames[i] =
        module ? Frame::of(index, addresses[i] - module->bias) : Frame::of(Frame::kNoModule, addresses[i]);
  }
  uint64_t packed_key =
      hash_of(frames, static_cast<size_t>(count) * sizeof(Frame), 0x5eed0000 + static_cast<uint64_t>(count));
  uint32_t stack = find(packed_key);
  if (stack == kNoStack) {
    if (used_entries + 2 > kEntries / 2) return kNoStack;
    stack = write_stack(frames, count, cut ? kCut : 0);
    if (stack == kNoStack) return kNoStack;
    insert(packed_key, stack);
  }
  insert(raw_key, stack);
  return stack;
}

// In a signal's handler it is only tried.
bool take_lock(bool in_signal) {
  if (!in_signal) return lock.lock(), true;
  if (lock.try_lock()) return true;
  count_drop(Drop::stacks_full);
  return false;
}

}  // namespace

Lock& stack_lock() { return lock; }

uint32_t known_stack(const uintptr_t* addresses, int count) { return find(key_of(addresses, count)); }

uint32_t intern_stack(const uintptr_t* addresses, int count, bool cut, bool in_signal) {
  const uint64_t raw_key = key_of(addresses, count);
  if (uint32_t stack = find(raw_key); stack != kNoStack) return stack;
  if (cut) count_drop(Drop::stack_cut);
  if (!take_lock(in_signal)) return kNoStack;
  uint32_t stack = add(addresses, count, cut, raw_key);
  lock.unlock();
  if (stack == kNoStack) count_drop(Drop::stacks_full);
  return stack;
}

uint32_t extend_stack(uint32_t stack, const Frame* frames, int count, uint32_t cut, bool in_signal) {
  if (cut != 0) count_drop(Drop::stack_cut);
  if (!take_lock(in_signal)) return kNoStack;
  StackHeader header{};
  static Frame all[kMaximumStackFrames];  // under the lock
  if (stack != kNoStack) memcpy(&header, file_memory + size_t{stack} * 8, sizeof header);
  const auto own = static_cast<int>(header.frame_count);
  if (own > 0) memcpy(all, file_memory + size_t{stack} * 8 + sizeof header, header.frame_count * sizeof *all);
  memcpy(all + own, frames, static_cast<size_t>(count) * sizeof *all);
  const uint32_t extended = write_stack(all, own + count, header.cut | cut);
  lock.unlock();
  if (extended == kNoStack) count_drop(Drop::stacks_full);
  return extended;
}

std::span<const Frame> frames_of(uint32_t stack) {
  if (stack == kNoStack || !file_memory) return {};
  const uint8_t* at = file_memory + size_t{stack} * 8;
  StackHeader header;
  memcpy(&header, at, sizeof header);
  return {reinterpret_cast<const Frame*>(at + sizeof header), header.frame_count};
}

void forget_stacks() {
  if (file_memory) munmap(file_memory, kMaximumFileBytes);
  file_memory = nullptr;
  mapped_bytes = used_bytes = used_entries = 0;
  clear_pages(static_cast<void*>(entries), sizeof entries);
}

}  // namespace diogenes::agent
