#include "memory_map.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "late/late.h"

namespace diogenes::sim {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kAlignment = 512;               // as the real driver has it
constexpr size_t kHostBlock = size_t{2} << 20;   // pinned memory smaller than this shares blocks of this size
constexpr size_t kHostArena = size_t{16} << 30;  // sparse
constexpr size_t kReturnPages = size_t{32} << 20;  // freed device memory of this size goes back to the system
constexpr size_t kBounce = 64 * 1024;
constexpr size_t kMostPopulated = size_t{16}
                                  << 20;  // of one allocation; beyond, memory is had as it is touched

size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

// Offsets of a memory file, first fit, neighbours joined.
class OffsetAllocator {
 public:
  explicit OffsetAllocator(size_t bytes) : free_{{0, bytes}}, free_bytes_(bytes) {}
  std::optional<uint64_t> take(size_t bytes) {
    for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
      if (hole->second < bytes) continue;
      const uint64_t at = hole->first;
      const size_t left = hole->second - bytes;
      free_.erase(hole);
      if (left > 0) free_.emplace(at + bytes, left);
      free_bytes_ -= bytes;
      return at;
    }
    return std::nullopt;
  }
  void give(uint64_t at, size_t bytes) {
    free_bytes_ += bytes;
    auto next = free_.lower_bound(at);
    if (next != free_.end() && at + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == at) {
        before->second += bytes;
        return;
      }
    }
    free_.emplace(at, bytes);
  }
  size_t free_bytes() const { return free_bytes_; }

 private:
  std::map<uint64_t, size_t> free_;
  size_t free_bytes_;
};

struct MemoryFile {
  explicit MemoryFile(const char* name, size_t bytes) : size(bytes), offsets(bytes) {
    file = memfd_create(name, MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return;
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (at != MAP_FAILED) view = static_cast<char*>(at);
  }
  // Gets the pages now: the first touch of each takes a microsecond or two, which no copy on a GPU has.
  void populate(uint64_t at, size_t bytes) {
    if (bytes > kMostPopulated) return;
    const uint64_t first = at / kPage, end = (at + bytes + kPage - 1) / kPage;
    if (populated.size() < end) populated.resize(end);
    for (uint64_t from = first; from < end; ++from) {
      if (populated[from]) continue;
      uint64_t to = from;
      while (to < end && !populated[to]) populated[to++] = true;
      madvise(view + from * kPage, (to - from) * kPage, MADV_POPULATE_WRITE);
      from = to - 1;
    }
  }
  void return_pages(uint64_t at, size_t bytes) {
    for (uint64_t page = at / kPage; page < std::min((at + bytes) / kPage + 1, populated.size()); ++page)
      populated[page] = false;
    fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
              static_cast<off_t>(bytes));
  }
  int file = -1;
  char* view = nullptr;  // null: the system did not give it; every allocation fails
  size_t size;
  OffsetAllocator offsets;
  std::vector<bool> populated;  // by page
};

// Pinned memory of which several allocations have a piece each, so they share pages, as with the real driver.
struct HostBlock {
  char* mapping = nullptr;  // the program's
  uint64_t offset = 0;      // in the memory file
  size_t used = 0;          // allocations in it; 0: it is unmapped
  OffsetAllocator pieces{kHostBlock};
};

struct State {
  State()
      : device("simulated device memory", device_memory_bytes()),
        host("simulated pinned memory", kHostArena) {
    void* at = mmap(nullptr, device.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) device_base = reinterpret_cast<uintptr_t>(at);
    own_memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  }
  mutable std::shared_mutex lock;
  MemoryFile device, host;
  uintptr_t device_base = 0;
  int own_memory = -1;
  uint64_t next_id = 1;
  std::map<uintptr_t, Allocation> allocations;
  std::map<uintptr_t, HostBlock> host_blocks;  // by mapping

  const Allocation* find(uintptr_t address) const {
    auto after = allocations.upper_bound(address);
    if (after == allocations.begin()) return nullptr;
    const Allocation& candidate = std::prev(after)->second;
    return address - candidate.base < std::max<size_t>(candidate.bytes, 1) ? &candidate : nullptr;
  }
  void forget(const Allocation& allocation) {
    if (allocation.kind == MemoryKind::device) {
      if (allocation.reserved >= kReturnPages) device.return_pages(allocation.offset, allocation.reserved);
      device.offsets.give(allocation.offset, allocation.reserved);
    } else if (in_block(allocation.kind, allocation.reserved)) {
      const auto found = std::prev(host_blocks.upper_bound(allocation.base));
      HostBlock& block = found->second;
      block.pieces.give(allocation.offset - block.offset, allocation.reserved);
      if (--block.used > 0) return;
      unmap(block.mapping, block.offset, kHostBlock);
      host_blocks.erase(found);
    } else if (allocation.kind != MemoryKind::registered) {
      unmap(reinterpret_cast<char*>(allocation.base), allocation.offset, allocation.reserved);
    }
  }

  static bool in_block(MemoryKind kind, size_t reserved) {
    return kind == MemoryKind::pinned && reserved < kHostBlock;
  }
  // Null: out of memory. The second: where it is in the memory file.
  std::pair<char*, uint64_t> map(size_t bytes) {
    const auto offset = host.offsets.take(bytes);
    if (!offset) return {};
    void* at =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, host.file, static_cast<off_t>(*offset));
    if (at != MAP_FAILED) return {static_cast<char*>(at), *offset};
    host.offsets.give(*offset, bytes);
    return {};
  }
  void unmap(char* at, uint64_t offset, size_t bytes) {
    munmap(at, bytes);
    host.return_pages(offset, bytes);
    host.offsets.give(offset, bytes);
  }
  // As map, of a piece of a block.
  std::pair<char*, uint64_t> take_piece(size_t bytes) {
    for (auto& [base, block] : host_blocks)
      if (const auto at = block.pieces.take(bytes)) {
        ++block.used;
        return {block.mapping + *at, block.offset + *at};
      }
    const auto [mapping, offset] = map(kHostBlock);
    if (!mapping) return {};
    HostBlock& block = host_blocks[reinterpret_cast<uintptr_t>(mapping)];
    block.mapping = mapping;
    block.offset = offset;
    block.used = 1;
    block.pieces.take(bytes);
    return {mapping, offset};
  }
};

State& state() {
  static State* the_state = new State;
  return *the_state;
}

bool whole(int file, bool write, void* buffer, uintptr_t address, size_t bytes) {
  auto* at = static_cast<char*>(buffer);
  while (bytes > 0) {
    const long moved = unstopped_call(write ? SYS_pwrite64 : SYS_pread64, file, reinterpret_cast<long>(at),
                                      static_cast<long>(bytes), static_cast<long>(address));
    if (moved <= 0) return false;
    at += moved;
    address += static_cast<size_t>(moved);
    bytes -= static_cast<size_t>(moved);
  }
  return true;
}

}  // namespace

size_t device_memory_bytes() {
  static const size_t bytes = [] {
    const char* mebibytes = getenv("DIOGENES_SIMULATED_MEMORY_MIB");
    const long asked = mebibytes ? strtol(mebibytes, nullptr, 10) : 0;
    return static_cast<size_t>(asked > 0 ? std::min(asked, 1L << 20) : 1024) << 20;
  }();
  return bytes;
}

MemoryMap& memory_map() {
  static MemoryMap map;
  return map;
}

uintptr_t MemoryMap::allocate_device(size_t bytes, Context* context, bool stream_ordered) {
  State& s = state();
  if (bytes > s.device.size || !s.device.view || !s.device_base) return 0;
  std::unique_lock held(s.lock);
  const size_t reserved = round_up(std::max<size_t>(bytes, 1), kAlignment);
  const auto offset = s.device.offsets.take(reserved);
  if (!offset) return 0;
  s.device.populate(*offset, reserved);
  const uintptr_t base = s.device_base + *offset;
  s.allocations[base] = {base,    bytes,       MemoryKind::device,      stream_ordered, 0,
                         context, s.next_id++, s.device.view + *offset, *offset,        reserved};
  return base;
}

uintptr_t MemoryMap::allocate_host(size_t bytes, MemoryKind kind, unsigned flags, Context* context) {
  State& s = state();
  if (bytes > s.host.size || !s.host.view) return 0;
  std::unique_lock held(s.lock);
  size_t reserved = round_up(std::max<size_t>(bytes, 1), kAlignment);
  const bool in_block = State::in_block(kind, reserved);
  if (!in_block) reserved = round_up(reserved, kPage);
  const auto [at, offset] = in_block ? s.take_piece(reserved) : s.map(reserved);
  if (!at) return 0;
  s.host.populate(offset, reserved);
  // Pinned memory is there for the program, too.
  const auto base = reinterpret_cast<uintptr_t>(at);
  if (kind == MemoryKind::pinned && reserved <= kMostPopulated) {
    const uintptr_t first_page = base / kPage * kPage;
    madvise(reinterpret_cast<void*>(first_page), base + reserved - first_page, MADV_POPULATE_WRITE);
  }
  s.allocations[base] = {base,   bytes,   kind, false, flags, context, s.next_id++, s.host.view + offset,
                         offset, reserved};
  return base;
}

bool MemoryMap::register_host(uintptr_t base, size_t bytes, unsigned flags, Context* context) {
  State& s = state();
  std::unique_lock held(s.lock);
  const auto after = s.allocations.lower_bound(base + bytes);
  if (after != s.allocations.begin()) {
    const Allocation& last = std::prev(after)->second;
    if (last.base + last.bytes > base) return false;
  }
  s.allocations[base] = {base, bytes, MemoryKind::registered, false, flags, context, s.next_id++, nullptr,
                         0,    0};
  return true;
}

bool MemoryMap::release(uintptr_t base, const std::function<bool(const Allocation&)>& accept) {
  State& s = state();
  std::unique_lock held(s.lock);
  const auto found = s.allocations.find(base);
  if (found == s.allocations.end() || !accept(found->second)) return false;
  s.forget(found->second);
  s.allocations.erase(found);
  return true;
}

void MemoryMap::release_all(const Context* context) {
  State& s = state();
  std::unique_lock held(s.lock);
  for (auto at = s.allocations.begin(); at != s.allocations.end();) {
    if (at->second.context == context) {
      s.forget(at->second);
      at = s.allocations.erase(at);
    } else {
      ++at;
    }
  }
}

std::optional<Allocation> MemoryMap::find(uintptr_t address) const {
  State& s = state();
  std::shared_lock held(s.lock);
  const Allocation* found = s.find(address);
  return found ? std::optional(*found) : std::nullopt;
}

void MemoryMap::usage(size_t* free_bytes, size_t* total_bytes) const {
  State& s = state();
  std::shared_lock held(s.lock);
  *free_bytes = s.device.offsets.free_bytes();
  *total_bytes = s.device.size;
}

char* MemoryMap::direct(uintptr_t address, size_t bytes) const {
  State& s = state();
  std::shared_lock held(s.lock);
  const Allocation* found = s.find(address);
  if (!found || !found->alias || bytes > found->bytes - (address - found->base)) return nullptr;
  return found->alias + (address - found->base);
}

bool MemoryMap::read(void* to, uintptr_t address, size_t bytes) const {
  if (bytes == 0) return true;
  if (const char* from = direct(address, bytes)) {
    memcpy(to, from, bytes);
    return true;
  }
  const auto found = find(address);
  if (!found || found->alias || bytes > found->bytes - (address - found->base)) return false;
  return whole(state().own_memory, false, to, address, bytes);
}

bool MemoryMap::read_any(void* to, uintptr_t address, size_t bytes) const {
  return find(address) ? read(to, address, bytes) : whole(state().own_memory, false, to, address, bytes);
}

bool MemoryMap::write(uintptr_t address, const void* from, size_t bytes) const {
  if (bytes == 0) return true;
  if (char* to = direct(address, bytes)) {
    memcpy(to, from, bytes);
    return true;
  }
  const auto found = find(address);
  if (!found || found->alias || bytes > found->bytes - (address - found->base)) return false;
  return whole(state().own_memory, true, const_cast<void*>(from), address, bytes);
}

bool MemoryMap::write_any(uintptr_t address, const void* from, size_t bytes) const {
  return find(address) ? write(address, from, bytes)
                       : whole(state().own_memory, true, const_cast<void*>(from), address, bytes);
}

bool MemoryMap::copy(uintptr_t destination, uintptr_t source, size_t bytes) const {
  char* to = direct(destination, bytes);
  const char* from = direct(source, bytes);
  if (to && from) {
    memmove(to, from, bytes);
    return true;
  }
  if (to) return read(to, source, bytes);
  if (from) return write(destination, from, bytes);
  std::vector<char> bounce(std::min(bytes, kBounce));
  for (size_t at = 0; at < bytes; at += bounce.size()) {
    const size_t piece = std::min(bounce.size(), bytes - at);
    if (!read(bounce.data(), source + at, piece) || !write(destination + at, bounce.data(), piece))
      return false;
  }
  return true;
}

bool MemoryMap::fill(uintptr_t destination, uint32_t value, unsigned width, size_t count) const {
  const size_t bytes = count * width;
  const auto put = [&](char* to, size_t size) {
    if (width == 1) {
      memset(to, static_cast<int>(value), size);
    } else if (width == 2) {
      std::fill_n(reinterpret_cast<uint16_t*>(to), size / 2, static_cast<uint16_t>(value));
    } else {
      std::fill_n(reinterpret_cast<uint32_t*>(to), size / 4, value);
    }
  };
  if (char* to = direct(destination, bytes)) {
    put(to, bytes);
    return true;
  }
  std::vector<char> bounce(std::min(bytes, kBounce));
  put(bounce.data(), bounce.size());
  for (size_t at = 0; at < bytes; at += bounce.size())
    if (!write(destination + at, bounce.data(), std::min(bounce.size(), bytes - at))) return false;
  return true;
}

}  // namespace diogenes::sim
