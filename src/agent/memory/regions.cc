#include "agent/memory/regions.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>

#include "agent/lock.h"

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
constexpr uint64_t kVmaShared = 0x08;

constexpr int kKeptUses = 15;
constexpr int kKeptUsesOfMaps = 63;
constexpr uint64_t kNearStack =
    1 << 20;  // so near to the stack pointer, it is a stack: coroutines have theirs anywhere

struct Kept {
  AddressRange range;
  Region region;
  int uses;
  uint32_t forgotten;  // `forgets` when it was asked for
};
constexpr int kKept = 256;
constinit Kept kept[kKept];
constinit Lock kept_lock;
// Without the lock: a handler of the program's may release memory while this thread holds it.
constinit std::atomic<uint32_t> forgets{0};
constinit std::atomic<bool> query_missing{false};

// Not one mapping may be shared: a range can reach over several (guards split them).
Region ask(AddressRange range, uint64_t stack_pointer) {
  int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return Region::unknown;
  Region region = Region::private_memory;
  for (uint64_t at = range.begin; at < range.end && region == Region::private_memory;) {
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
      region = Region::unknown;
    } else if (query.vma_flags & kVmaShared) {
      region = Region::shared_memory;
    } else if (strcmp(name, "[stack]") == 0 ||
               (query.vma_start <= stack_pointer && stack_pointer < query.vma_end)) {
      region = Region::stack;
    }
    at = query.vma_end;
  }
  close(file);
  return region;
}

// One line of the maps: begin-end rwxp offset device inode path.
bool parse_line(const char* line, AddressRange* range, bool* shared, bool* named_stack) {
  auto number = [&line](uint64_t* value) {
    *value = 0;
    const char* first = line;
    for (;; ++line) {
      int digit = *line >= '0' && *line <= '9'   ? *line - '0'
                  : *line >= 'a' && *line <= 'f' ? *line - 'a' + 10
                                                 : -1;
      if (digit < 0) return line > first;
      *value = *value << 4 | static_cast<uint64_t>(digit);
    }
  };
  const char* whole = line;
  uint64_t begin, end;
  if (!number(&begin) || *line++ != '-' || !number(&end) || *line++ != ' ') return false;
  if (strlen(line) < 4) return false;
  *range = {begin, end};
  *shared = line[3] == 's';
  *named_stack = strstr(whole, "[stack]") != nullptr;
  return true;
}

}  // namespace

Region region_by_maps(AddressRange range) {
  uint64_t stack_pointer = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return Region::unknown;
  char buffer[2048];
  size_t filled = 0;
  uint64_t covered = range.begin;  // up to here, all is private
  Region region = Region::unknown;
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
      bool shared, named_stack;
      if (!skipping && parse_line(line, &mapping, &shared, &named_stack) && mapping.contains(covered)) {
        covered = mapping.end;
        if (shared)
          region = Region::shared_memory, done = true;
        else if (named_stack || mapping.contains(stack_pointer))
          region = Region::stack, done = true;
        else if (covered >= range.end)
          region = Region::private_memory, done = true;
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
      bool shared, named_stack;
      if (!skipping && parse_line(buffer, &mapping, &shared, &named_stack) && mapping.overlaps(range)) break;
      skipping = true;
      filled = 0;
    }
  }
  close(file);
  return region;
}

void forget_regions() { forgets.fetch_add(1, std::memory_order_relaxed); }

Region region_now(AddressRange range) {
  {
    LockGuard guard(kept_lock);
    kept[(range.begin >> 12) % kKept].uses = 0;
  }
  return region_of(range);
}

Region region_of(AddressRange range) {
  uint64_t stack_pointer = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  if (range.begin < stack_pointer + kNearStack && stack_pointer < range.end + kNearStack)
    return Region::stack;
  Kept& entry = kept[(range.begin >> 12) % kKept];
  const uint32_t forgotten = forgets.load(std::memory_order_relaxed);
  {
    LockGuard guard(kept_lock);
    if (entry.range == range && entry.uses > 0 && entry.forgotten == forgotten) {
      --entry.uses;
      return entry.region;
    }
  }
  Region region = Region::unknown;
  bool asked = !query_missing.load(std::memory_order_relaxed);
  if (asked) {
    region = ask(range, stack_pointer);
    asked = !query_missing.load(std::memory_order_relaxed);
  }
  if (!asked) region = region_by_maps(range);
  LockGuard guard(kept_lock);
  entry = {range, region, asked ? kKeptUses : kKeptUsesOfMaps, forgotten};
  return region;
}

}  // namespace diogenes::agent
