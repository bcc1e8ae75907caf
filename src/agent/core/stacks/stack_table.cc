// Two keys lead to a stack: the hash of its addresses with the module map's generation (found without a
// lock), and the hash of its modules and offsets (so that the same code after a dlclose and dlopen is the
// same stack). Both live in one open-addressing table; an entry is written once, value before key.
#include "agent/core/stacks/stack_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

#include "agent/core/recording/module_map.h"
#include "agent/core/recording/process_folder.h"
#include "base/known_keys.h"
#include "trace/growing_file.h"

namespace diogenes::agent {

namespace {

constinit KnownKeys<1 << 19> known;  // by both keys
GrowingFile file;

uint64_t hash_of(const void* data, size_t bytes, uint64_t seed) {
  const uint64_t hash = (XXH3_64bits(data, bytes) ^ seed) * 0x9e3779b97f4a7c15;
  return hash ? hash : 1;
}

uint64_t key_of(const uintptr_t* addresses, int count) {
  return hash_of(addresses, static_cast<size_t>(count) * sizeof(uintptr_t),
                 static_cast<uint64_t>(module_generation()) << 32 | static_cast<uint32_t>(count));
}

uint32_t write_stack(const Frame* frames, int count, uint32_t cut) {
  const size_t bytes = sizeof(StackHeader) + static_cast<size_t>(count) * sizeof(Frame);
  uint8_t* to = open_process_folder() ? file.make_room("stacks", bytes, map_file_part) : nullptr;
  if (!to) return kNoStack;
  memcpy(to + sizeof(StackHeader), frames, static_cast<size_t>(count) * sizeof(Frame));
  return file.add(StackHeader{static_cast<uint32_t>(count), cut}, bytes);
}

uint32_t add(const uintptr_t* addresses, int count, bool cut, uint64_t raw_key) {
  if (uint32_t stack = known.find(raw_key); stack != kNoStack) return stack;
  static Frame frames[kMaximumFrames];  // under the lock; the program's stack may be small
  for (int i = 0; i < count; ++i) {
    uint32_t index = 0;
    const ModuleRecord* module = find_module(addresses[i], &index);
    frames[i] =
        module ? Frame::of(index, addresses[i] - module->bias) : Frame::of(Frame::kNoModule, addresses[i]);
  }
  uint64_t packed_key =
      hash_of(frames, static_cast<size_t>(count) * sizeof(Frame), 0x5eed0000 + static_cast<uint64_t>(count));
  uint32_t stack = known.find(packed_key);
  if (stack == kNoStack) {
    if (known.full()) return kNoStack;
    stack = write_stack(frames, count, cut ? kCut : 0);
    if (stack == kNoStack) return kNoStack;
    known.insert(packed_key, stack);
  }
  known.insert(raw_key, stack);
  return stack;
}

// In a signal's handler it is only tried.
bool take_lock(bool in_signal) {
  if (!in_signal) return stack_lock().lock(), true;
  if (stack_lock().try_lock()) return true;
  count_drop(Drop::stacks_full);
  return false;
}

}  // namespace

uint32_t known_stack(const uintptr_t* addresses, int count) { return known.find(key_of(addresses, count)); }

uint32_t intern_stack(const uintptr_t* addresses, int count, bool cut, bool in_signal) {
  const uint64_t raw_key = key_of(addresses, count);
  if (uint32_t stack = known.find(raw_key); stack != kNoStack) return stack;
  if (cut) count_drop(Drop::stack_cut);
  if (!take_lock(in_signal)) return kNoStack;
  uint32_t stack = add(addresses, count, cut, raw_key);
  stack_lock().unlock();
  if (stack == kNoStack) count_drop(Drop::stacks_full);
  return stack;
}

uint32_t extend_stack(uint32_t stack, const Frame* frames, int count, uint32_t cut, bool in_signal) {
  if (cut != 0) count_drop(Drop::stack_cut);
  if (!take_lock(in_signal)) return kNoStack;
  StackHeader header{};
  static Frame all[kMaximumStackFrames];  // under the lock
  if (stack != kNoStack) memcpy(&header, file.at(stack), sizeof header);
  const auto own = static_cast<int>(header.frame_count);
  if (own > 0) memcpy(all, file.at(stack) + sizeof header, header.frame_count * sizeof *all);
  memcpy(all + own, frames, static_cast<size_t>(count) * sizeof *all);
  const uint32_t extended = write_stack(all, own + count, header.cut | cut);
  stack_lock().unlock();
  if (extended == kNoStack) count_drop(Drop::stacks_full);
  return extended;
}

std::span<const Frame> frames_of(uint32_t stack) {
  const uint8_t* at = stack == kNoStack ? nullptr : file.at(stack);
  if (!at) return {};
  StackHeader header;
  memcpy(&header, at, sizeof header);
  return {reinterpret_cast<const Frame*>(at + sizeof header), header.frame_count};
}

void forget_stacks() {
  file.forget();
  known.clear();
}

}  // namespace diogenes::agent
