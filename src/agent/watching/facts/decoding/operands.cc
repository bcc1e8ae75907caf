#include "agent/watching/facts/decoding/operands.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "agent/core/lock.h"
#include "agent/core/recording/process_folder.h"

namespace diogenes::agent::facts {

namespace {

struct Entry {
  std::atomic<uint64_t> key;
  std::atomic<uint32_t> list;
};
constexpr size_t kEntries = 1 << 17;  // 2 MiB of zero pages, touched as used
constexpr size_t kMaximumFileBytes = 256 << 20;
constexpr size_t kPartBytes = 256 << 10;
Entry entries[kEntries];
size_t used_entries = 0;
uint8_t* file_memory = nullptr;
size_t mapped_bytes = 0, used_bytes = 0;
constinit Lock lock;

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccd;
  return hash ^ hash >> 32;
}

uint64_t key_of(const Operands& operands) {
  uint64_t hash =
      mix(0x9e3779b97f4a7c15, uint64_t{operands.flags} << 32 | static_cast<uint32_t>(operands.count));
  for (int i = 0; i < operands.count; ++i) {
    const OperandRecord& operand = operands.list[i];
    hash = mix(hash, operand.begin);
    hash = mix(hash, operand.bytes);
    hash = mix(hash, operand.flags | static_cast<uint64_t>(operand.kind) << 8);
  }
  return hash ? hash : 1;
}

uint32_t find(uint64_t key) {
  for (size_t probe = 0, at = key % kEntries; probe < 64; ++probe, at = (at + 1) % kEntries) {
    // acquire pairs with the release in insert(): the key is stored after the value.
    uint64_t found = entries[at].key.load(std::memory_order_acquire);
    if (found == key) return entries[at].list.load(std::memory_order_relaxed);
    if (found == 0) return 0;
  }
  return 0;
}

void insert(uint64_t key, uint32_t list) {
  if (used_entries + 1 > kEntries / 2) return;  // found no more, but written all the same
  for (size_t probe = 0, at = key % kEntries; probe < 64; ++probe, at = (at + 1) % kEntries) {
    if (entries[at].key.load(std::memory_order_relaxed) != 0) continue;
    entries[at].list.store(list, std::memory_order_relaxed);
    entries[at].key.store(key, std::memory_order_release);
    ++used_entries;
    return;
  }
}

bool make_room(size_t bytes) {
  if (!file_memory) {
    void* memory =
        mmap(nullptr, kMaximumFileBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    file_memory = static_cast<uint8_t*>(memory);
  }
  if (used_bytes + bytes + sizeof(FileHeader) > mapped_bytes) {
    if (mapped_bytes + kPartBytes > kMaximumFileBytes ||
        !map_file_part("operands", mapped_bytes, kPartBytes, file_memory + mapped_bytes))
      return false;
    mapped_bytes += kPartBytes;
  }
  if (used_bytes == 0) {
    FileHeader header{};
    memcpy(header.magic, kTraceMagic, sizeof kTraceMagic);
    header.version = kTraceVersion;
    memcpy(file_memory, &header, sizeof header);
    used_bytes = sizeof header;
  }
  return true;
}

uint32_t write(const Operands& operands) {
  size_t bytes = static_cast<size_t>(operands.count) * sizeof(OperandRecord);
  if (!make_room(sizeof(OperandListHeader) + bytes)) return 0;
  uint8_t* to = file_memory + used_bytes;
  memcpy(to + sizeof(OperandListHeader), operands.list, bytes);
  OperandListHeader header{static_cast<uint32_t>(operands.count) + 1, operands.flags};
  uint64_t word;
  memcpy(&word, &header, sizeof word);
  // release: pairs with the reader's check for zero.
  __atomic_store_n(reinterpret_cast<uint64_t*>(to), word, __ATOMIC_RELEASE);
  auto index = static_cast<uint32_t>(used_bytes / 8);
  used_bytes += sizeof(OperandListHeader) + bytes;
  return index;
}

}  // namespace

void Operands::add(AddressRange range, MemoryKind kind, uint8_t access) {
  if (range.empty()) return;
  for (int i = 0; i < count; ++i)
    if (list[i].begin == range.begin && list[i].bytes == range.size() && list[i].kind == kind &&
        (list[i].flags & ~(kReads | kWrites)) == (access & ~(kReads | kWrites))) {
      list[i].flags |= access;
      return;
    }
  if (count == kMaximum) {
    flags |= kAnyDevice;
    if (kind != MemoryKind::device) flags |= kAnyHost;
    if (kind == MemoryKind::pageable || kind == MemoryKind::unknown) flags |= kAnyPageable;
    return;
  }
  list[count] = {};
  list[count].begin = range.begin;
  list[count].bytes = range.size();
  list[count].flags = access;
  list[count++].kind = kind;
}

uint32_t intern_operands(const Operands& operands, bool* lost) {
  *lost = false;
  if (operands.empty()) return 0;
  uint64_t key = key_of(operands);
  if (uint32_t list = find(key)) return list;
  LockGuard guard(lock);
  uint32_t list = find(key);
  if (list == 0 && (list = write(operands)) != 0) insert(key, list);
  *lost = list == 0;
  return list;
}

void forget_operands() {
  if (file_memory) munmap(file_memory, kMaximumFileBytes);
  file_memory = nullptr;
  mapped_bytes = used_bytes = used_entries = 0;
  memset(static_cast<void*>(entries), 0, sizeof entries);
}

}  // namespace diogenes::agent::facts
