#include "agent/core/unwind/known_walks.h"

#include <atomic>

#include "agent/core/recording/module_map.h"
#include "agent/core/recording/process_folder.h"

namespace diogenes::agent {

namespace {

// Loops differ in the address, threads in rsp. What is called from one place at one depth, as each kernel of a library is, has
// several entries.
constexpr int kSetBits = 8;
constexpr uint32_t kEntriesOfSet = 8;

// Who finds it taken does without: another thread, or a signal's handler that interrupted this one.
struct Entry {
  std::atomic<bool> taken;
  uint64_t address, rsp, rbp;
  uint64_t generation;  // of the modules, and of the folder that the stack is in
  uint32_t stack;
  uint32_t end;  // behind the last word, in words from rsp
  WordsRead words;
};
using Set = Entry[kEntriesOfSet];
constinit Set sets[1 << kSetBits] = {};  // 6 MiB of zero pages, touched as used
std::atomic<uint32_t> next_entry{0};     // of its set, which a walk takes that is not known

Set& set_of(const Registers& from) {
  return sets[((from.address ^ from.rsp << 17) * 0x9e3779b97f4a7c15) >> (64 - kSetBits)];
}

class HeldEntry {
 public:
  explicit HeldEntry(Entry& entry)
      : entry_(entry),
        // acquire pairs with the release below.
        mine_(!entry_.taken.exchange(true, std::memory_order_acquire)) {}
  ~HeldEntry() {
    if (mine_) entry_.taken.store(false, std::memory_order_release);
  }
  HeldEntry(const HeldEntry&) = delete;
  HeldEntry& operator=(const HeldEntry&) = delete;
  explicit operator bool() const { return mine_; }

 private:
  Entry& entry_;
  bool mine_;
};

uint64_t generation() { return static_cast<uint64_t>(module_generation()) << 32 | folder_generation(); }

bool is_same_walk(const Entry& entry, const Registers& from) {
  if (entry.address != from.address || entry.rsp != from.rsp || entry.generation != generation() ||
      (entry.words.rbp && entry.rbp != from.rbp) || !is_on_readable_stack(from.rsp, entry.end))
    return false;
  const auto* stack = reinterpret_cast<const uintptr_t*>(from.rsp);
  for (int i = 0; i < entry.words.count; ++i)
    if (stack[entry.words.at[i]] != entry.words.values[i]) return false;
  return true;
}

}  // namespace

uint32_t find_known_walk(const Registers& from) {
  for (Entry& entry : set_of(from))
    if (const HeldEntry held(entry); held && is_same_walk(entry, from)) return entry.stack;
  return kNoStack;
}

void keep_walk(const Registers& from, const WordsRead& words, uint32_t stack) {
  if (from.exact || words.count < 0) return;
  // relaxed: any entry of the set will do.
  Entry& entry = set_of(from)[next_entry.fetch_add(1, std::memory_order_relaxed) % kEntriesOfSet];
  const HeldEntry held(entry);
  if (!held) return;
  entry.address = from.address;
  entry.rsp = from.rsp;
  entry.rbp = from.rbp;
  entry.generation = generation();
  entry.stack = stack;
  entry.words.rbp = words.rbp;
  entry.words.count = words.count;
  entry.end = 0;
  for (int i = 0; i < words.count; ++i) {
    entry.words.at[i] = words.at[i];
    entry.words.values[i] = words.values[i];
    if (entry.end <= words.at[i]) entry.end = words.at[i] + 1;
  }
}

}  // namespace diogenes::agent
