#include "agent/core/unwind/known_walks.h"

#include <atomic>

#include "agent/core/recording/module_map.h"
#include "agent/core/recording/process_folder.h"

namespace diogenes::agent {

namespace {

constexpr int kEntryBits = 10;

// Who finds it taken does without: another thread, or a signal's handler that interrupted this one.
struct Entry {
  std::atomic<bool> taken;
  uint64_t address, rsp, rbp;
  uint64_t generation;  // of the modules, and of the folder that the stack is in
  uint32_t stack;
  uint32_t end;  // behind the last word, in words from rsp
  WordsRead words;
};
constinit Entry entries[1 << kEntryBits] = {};  // 1.5 MiB of zero pages, touched as used

class HeldEntry {
 public:
  explicit HeldEntry(const Registers& from)
      // Loops differ in the address, threads in rsp.
      : entry_(entries[((from.address ^ from.rsp << 17) * 0x9e3779b97f4a7c15) >> (64 - kEntryBits)]),
        // acquire pairs with the release below.
        mine_(!entry_.taken.exchange(true, std::memory_order_acquire)) {}
  ~HeldEntry() {
    if (mine_) entry_.taken.store(false, std::memory_order_release);
  }
  HeldEntry(const HeldEntry&) = delete;
  HeldEntry& operator=(const HeldEntry&) = delete;
  explicit operator bool() const { return mine_; }
  Entry* operator->() const { return &entry_; }

 private:
  Entry& entry_;
  bool mine_;
};

uint64_t generation() { return static_cast<uint64_t>(module_generation()) << 32 | folder_generation(); }

}  // namespace

uint32_t find_known_walk(const Registers& from) {
  const HeldEntry entry(from);
  if (!entry || entry->address != from.address || entry->rsp != from.rsp || entry->rbp != from.rbp ||
      entry->generation != generation() || !is_on_readable_stack(from.rsp, entry->end))
    return kNoStack;
  const auto* stack = reinterpret_cast<const uintptr_t*>(from.rsp);
  bool same = true;
  for (int i = 0; i < entry->words.count; ++i) same &= stack[entry->words.at[i]] == entry->words.values[i];
  return same ? entry->stack : kNoStack;
}

void keep_walk(const Registers& from, const WordsRead& words, uint32_t stack) {
  if (from.exact || words.count < 0) return;
  const HeldEntry entry(from);
  if (!entry) return;
  entry->address = from.address;
  entry->rsp = from.rsp;
  entry->rbp = from.rbp;
  entry->generation = generation();
  entry->stack = stack;
  entry->words.count = words.count;
  entry->end = 0;
  for (int i = 0; i < words.count; ++i) {
    entry->words.at[i] = words.at[i];
    entry->words.values[i] = words.values[i];
    if (entry->end <= words.at[i]) entry->end = words.at[i] + 1;
  }
}

}  // namespace diogenes::agent
