#include "agent/watching/facts/decoding/operands.h"

#include <cstring>

#include "agent/core/lock.h"
#include "agent/core/recording/process_folder.h"
#include "base/known_keys.h"
#include "trace/growing_file.h"

namespace diogenes::agent::facts {

namespace {

constinit KnownKeys<1 << 17> known;  // lists that are told apart
GrowingFile file;
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

uint32_t write(const Operands& operands) {
  size_t bytes = static_cast<size_t>(operands.count) * sizeof(OperandRecord);
  uint8_t* to = file.make_room("operands", sizeof(OperandListHeader) + bytes, map_file_part);
  if (!to) return 0;
  memcpy(to + sizeof(OperandListHeader), operands.list, bytes);
  return file.add(OperandListHeader{static_cast<uint32_t>(operands.count) + 1, operands.flags},
                  sizeof(OperandListHeader) + bytes);
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
  if (uint32_t list = known.find(key)) return list;
  LockGuard guard(lock);
  uint32_t list = known.find(key);
  if (list == 0 && (list = write(operands)) != 0 && !known.full())
    known.insert(key, list);  // else found no more, but written all the same
  *lost = list == 0;
  return list;
}

void forget_operands() {
  file.forget();
  known.clear();
}

}  // namespace diogenes::agent::facts
