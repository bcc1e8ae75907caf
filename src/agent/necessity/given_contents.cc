#include "agent/necessity/given_contents.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "agent/necessity/state.h"

namespace diogenes::agent {

namespace {

constexpr uint64_t kPresent = 1ull << 63, kSwapped = 1ull << 62;  // of /proc/self/pagemap

class OwnFile {
 public:
  explicit OwnFile(const char* path) : file_(open(path, O_RDONLY | O_CLOEXEC)) {}
  ~OwnFile() {
    if (file_ >= 0) close(file_);
  }
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;
  bool read(void* to, uint64_t bytes, uint64_t offset) const {
    return file_ >= 0 && pread(file_, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }

 private:
  int file_;
};

constexpr int kMostLookedUp = 256;

class Reader {
 public:
  Reader(State& state, Flight& flight) : state_(state), given_(flight.given), blocks_(flight.blocks) {}

  // False: not all could be read.
  bool read_all() {
    {
      LockGuard guard(state_.lock);
      taken_ = state_.pages_taken;
    }
    // What is found on the way is given, too.
    for (int i = 0; i < given_.count; ++i)
      if (!reach(given_.address[i])) return false;
    if (given_.unknown) return false;
    LockGuard guard(state_.lock);
    if (state_.pages_taken != taken_) return false;  // pages may have gone meanwhile
    for (int i = 0; i < blocks_.count; ++i) state_.memory.mark_read(blocks_.block[i].begin, taken_);
    return true;
  }

 private:
  bool reach(uint64_t address) {
    Allocation allocation;
    {
      LockGuard guard(state_.lock);
      const Allocation* found = allocation_near(state_, address);
      if (!found) return true;
      allocation = *found;
      bounds_ = state_.memory.bounds();
    }
    if (blocks_.contains(allocation.range)) return true;
    if (blocks_.count == GivenBlocks::kMaximum) return false;
    blocks_.block[blocks_.count++] = allocation.range;
    // What is in device memory was seen when it was copied there (Allocation::holds_pointers).
    if (allocation.kind == MemoryKind::device) return true;
    leads_on_ = false;
    const bool read = read_block(allocation);
    if (leads_on_) {
      LockGuard guard(state_.lock);
      state_.memory.mark_leading_on(allocation.range.begin);
    }
    return read;
  }

  bool read_block(const Allocation& allocation) {
    // Whole words only.
    const AddressRange words = {(allocation.range.begin + 7) & ~7ull, allocation.range.end & ~7ull};
    if (words.empty()) return true;
    if (words.size() > left_) return false;
    left_ -= words.size();
    constexpr uint64_t kPages = 16;
    uint64_t entries[kPages];
    for (uint64_t first = words.begin & ~(kPageSize - 1); first < words.end; first += kPages * kPageSize) {
      const uint64_t pages = std::min(kPages, (words.end - first + kPageSize - 1) / kPageSize);
      if (allocation.kind != MemoryKind::managed)
        std::fill_n(entries, pages, kPresent);
      else if (!pages_.read(entries, pages * 8, first / kPageSize * 8))
        return false;
      for (uint64_t i = 0; i < pages; ++i) {
        if (!(entries[i] & (kPresent | kSwapped))) {
          if (allocation.read_at != taken_ || allocation.leads_on) return false;
          continue;
        }
        const uint64_t page = first + i * kPageSize;
        if (!read_words(words.intersection({page, page + kPageSize}))) return false;
      }
    }
    return true;
  }

  bool read_words(AddressRange range) {
    uint64_t words[256];
    for (uint64_t at = range.begin; at < range.end;) {
      const uint64_t bytes = std::min<uint64_t>(sizeof words, range.end - at);
      if (!memory_.read(words, bytes, at)) return false;
      for (uint64_t i = 0; i < bytes / 8; ++i)
        if (bounds_.contain(words[i]) && words[i] != last_ && !is_known(words[i]) && !note(words[i]))
          return false;
      at += bytes;
    }
    return true;
  }

  // Numbers may look like addresses, too: given is what lies in memory that there is. False: too many.
  bool note(uint64_t word) {
    last_ = word;
    leads_on_ = true;
    if (++looked_up_ > kMostLookedUp) return false;
    LockGuard guard(state_.lock);
    const Allocation* found = allocation_near(state_, word);
    bool known = !found;
    for (int i = 0; i < given_.count && !known; ++i) known = found->range.contains(given_.address[i]);
    if (!known) given_.add(word, bounds_);
    return true;
  }

  bool is_known(uint64_t word) const {
    for (int i = 0; i < blocks_.count; ++i)
      if (blocks_.block[i].contains(word)) return true;
    return false;
  }

  State& state_;
  GivenAddresses& given_;
  GivenBlocks& blocks_;
  AddressBounds bounds_;
  uint64_t left_ = kMostRead;
  uint32_t taken_ = 0;
  bool leads_on_ = false;  // the block that is read
  uint64_t last_ = 0;
  int looked_up_ = 0;
  OwnFile pages_{"/proc/self/pagemap"}, memory_{"/proc/self/mem"};
};

}  // namespace

bool reaches_all_shared(const State& state, const Flight& flight) {
  if (flight.named.anything || state.variables) return true;
  for (int i = 0; i < flight.given.count; ++i) {
    const Allocation* allocation = allocation_near(state, flight.given.address[i]);
    if (allocation && allocation->kind != MemoryKind::device &&
        (!flight.blocks.all_read || !flight.blocks.contains(allocation->range)))
      return true;
  }
  return false;
}

void note_pages_taken(State& state, const Call& call, const Flight& flight) {
  const Effect& effect = flight.effect;
  auto may_be_managed = [&](const Side& side) {
    return side.kind == MemoryKind::managed || side.kind == MemoryKind::unknown;
  };
  bool taken = call.driver->role == Role::prefetch || operation_starts(call, "cuMemAdvise") ||
               operation_starts(call, "cuStreamAttachMem");
  if (effect.transfer)
    taken |= !effect.arguments.decoded || may_be_managed(effect.destination) ||
             (!effect.arguments.fill && may_be_managed(effect.source));
  if (effect.kernel) taken |= reaches_all_shared(state, flight);
  if (call.driver->role == Role::graph_launch) taken |= graph_moves_managed(state, flight);
  state.pages_taken += taken;
}

void read_given_blocks(State& state, Flight& flight) {
  flight.blocks.clear();
  {
    LockGuard guard(state.lock);
    // With one block, there is no other that it could point at.
    if (!state.shared.holds_several() || flight.given.unknown || state.unnamed_memory || state.variables)
      return;
    bool shared = false;
    for (int i = 0; i < flight.given.count && !shared; ++i) {
      const Allocation* allocation = allocation_near(state, flight.given.address[i]);
      shared = allocation && allocation->kind != MemoryKind::device;
    }
    if (!shared) return;
  }
  const int64_t begin = monotonic_now().count;
  if (!state.reading.is_left(begin)) return;
  flight.blocks.all_read = Reader(state, flight).read_all();
  state.reading.spend(monotonic_now().count - begin);
}

}  // namespace diogenes::agent
