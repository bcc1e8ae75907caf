#include "agent/core/memory/mappings.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "agent/core/lock.h"

namespace diogenes::agent {

namespace {

// From linux/fs.h of 6.11; older headers do not have it.
struct ProcmapQuery {
  uint64_t size, query_flags, query_addr;
  uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
  uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
  uint64_t vma_name_addr, build_id_addr;
};
constexpr unsigned long kProcmapQuery = _IOWR('f', 17, ProcmapQuery);
constexpr uint64_t kVmaRead = 0x01, kVmaWrite = 0x02, kVmaExecute = 0x04, kVmaShared = 0x08;

constexpr int kKeptUses = 15;
constexpr int kKeptUsesOfMaps = 63;
constexpr uint64_t kNearStack =
    1 << 20;  // so near to the stack pointer, it is a stack: coroutines have theirs anywhere

struct Kept {
  AddressRange range;
  MappingKind kind;
  int uses;
  uint32_t forgotten;  // `forgets` when it was asked for
};
constexpr int kKept = 256;
constinit Kept kept[kKept];
constinit Lock kept_lock;
// Without the lock: a handler of the program's may release memory while this thread holds it.
constinit std::atomic<uint32_t> forgets{0};
constinit std::atomic<bool> query_missing{false};

// What lies under a guard seems to be closed.
bool is_usable(uint64_t flags, bool open) {
  constexpr uint64_t kOpen = kVmaRead | kVmaWrite;
  return (flags & kVmaExecute) == 0 && (!open || (flags & kOpen) == kOpen);
}

// Not one mapping may be shared: a range can reach over several (guards split them).
MappingKind ask(AddressRange range, uint64_t stack_pointer, bool open_memory) {
  int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return MappingKind::unknown;
  MappingKind kind = MappingKind::private_memory;
  const auto is_private = [&kind] {
    return kind == MappingKind::private_memory || kind == MappingKind::private_file;
  };
  for (uint64_t at = range.begin; at < range.end && is_private();) {
    char name[64] = {};
    ProcmapQuery query{};
    query.size = sizeof query;
    query.query_addr = at;
    query.vma_name_size = sizeof name;
    query.vma_name_addr = reinterpret_cast<uint64_t>(name);
    int result = ioctl(file, kProcmapQuery, &query);
    if (result != 0 && errno == ENAMETOOLONG) {
      query.vma_name_size = 0;
      query.vma_name_addr = 0;
      result = ioctl(file, kProcmapQuery, &query);
    }
    if (result != 0) {
      if (errno == ENOTTY || errno == EINVAL) query_missing.store(true, std::memory_order_relaxed);
      kind = MappingKind::unknown;
    } else if (query.vma_flags & kVmaShared) {
      kind = MappingKind::shared_memory;
    } else if (!is_usable(query.vma_flags, open_memory)) {
      kind = MappingKind::unknown;
    } else if (strcmp(name, "[stack]") == 0 ||
               (query.vma_start <= stack_pointer && stack_pointer < query.vma_end)) {
      kind = MappingKind::stack;
    } else if (query.inode != 0) {
      kind = MappingKind::private_file;
    }
    at = query.vma_end;
  }
  close(file);
  return kind;
}

// One line of the maps: begin-end rwxp offset device inode path.
bool parse_line(const char* line, AddressRange* range, uint64_t* flags, bool* named_stack, bool* of_file) {
  char* at = nullptr;
  range->begin = strtoull(line, &at, 16);
  if (*at++ != '-') return false;
  range->end = strtoull(at, &at, 16);
  if (*at++ != ' ' || strlen(at) < 4) return false;
  *flags = (at[0] == 'r' ? kVmaRead : 0) | (at[1] == 'w' ? kVmaWrite : 0) | (at[2] == 'x' ? kVmaExecute : 0) |
           (at[3] == 's' ? kVmaShared : 0);
  *named_stack = strstr(at, "[stack]") != nullptr;
  for (int field = 0; field < 3 && at; ++field)
    if ((at = const_cast<char*>(strchr(at, ' ')))) ++at;
  *of_file = !at || strtoull(at, nullptr, 10) != 0;
  return true;
}

}  // namespace

MappingKind mapping_kind_by_maps(AddressRange range, bool open_memory) {
  uint64_t stack_pointer = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return MappingKind::unknown;
  char buffer[2048];
  size_t filled = 0;
  uint64_t covered = range.begin;  // up to here, all is private
  MappingKind kind = MappingKind::unknown;
  bool of_files = false;
  bool skipping = false;  // the rest of a line that is longer than the buffer
  for (bool done = false; !done;) {
    ssize_t got = read(file, buffer + filled, sizeof buffer - 1 - filled);
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
    buffer[filled] = 0;
    char* line = buffer;
    while (char* end = strchr(line, '\n')) {
      *end = 0;
      AddressRange mapping;
      uint64_t flags;
      bool named_stack, of_file;
      if (!skipping && parse_line(line, &mapping, &flags, &named_stack, &of_file) &&
          mapping.contains(covered)) {
        covered = mapping.end;
        of_files |= of_file;
        if (flags & kVmaShared)
          kind = MappingKind::shared_memory, done = true;
        else if (!is_usable(flags, open_memory))
          done = true;
        else if (named_stack || mapping.contains(stack_pointer))
          kind = MappingKind::stack, done = true;
        else if (covered >= range.end)
          kind = of_files ? MappingKind::private_file : MappingKind::private_memory, done = true;
        if (done) break;
      }
      skipping = false;
      line = end + 1;
    }
    filled -= static_cast<size_t>(line - buffer);
    memmove(buffer, line, filled);
    if (filled == sizeof buffer - 1) {
      // A path longer than the buffer: its first part says all that is needed, once.
      AddressRange mapping;
      uint64_t flags;
      bool named_stack, of_file;
      if (!skipping && parse_line(buffer, &mapping, &flags, &named_stack, &of_file) &&
          mapping.overlaps(range))
        break;
      skipping = true;
      filled = 0;
    }
  }
  close(file);
  return kind;
}

void forget_mappings() { forgets.fetch_add(1, std::memory_order_relaxed); }

MappingKind mapping_kind_now(AddressRange range) {
  {
    LockGuard guard(kept_lock);
    kept[(range.begin >> 12) % kKept].uses = 0;
  }
  return mapping_kind(range, true);
}

MappingKind mapping_kind(AddressRange range, bool open_memory) {
  uint64_t stack_pointer = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  if (range.begin < stack_pointer + kNearStack && stack_pointer < range.end + kNearStack)
    return MappingKind::stack;
  Kept& entry = kept[(range.begin >> 12) % kKept];
  const uint32_t forgotten = forgets.load(std::memory_order_relaxed);
  {
    LockGuard guard(kept_lock);
    if (entry.range == range && entry.uses > 0 && entry.forgotten == forgotten) {
      --entry.uses;
      return entry.kind;
    }
  }
  MappingKind kind = MappingKind::unknown;
  bool asked = !query_missing.load(std::memory_order_relaxed);
  if (asked) {
    kind = ask(range, stack_pointer, open_memory);
    asked = !query_missing.load(std::memory_order_relaxed);
  }
  if (!asked) kind = mapping_kind_by_maps(range, open_memory);
  LockGuard guard(kept_lock);
  entry = {range, kind, asked ? kKeptUses : kKeptUsesOfMaps, forgotten};
  return kind;
}

}  // namespace diogenes::agent
