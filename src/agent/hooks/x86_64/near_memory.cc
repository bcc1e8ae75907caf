#include "agent/hooks/x86_64/near_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace diogenes::agent {

namespace {

constexpr uintptr_t kReach = 0x7ff00000;  // a little under 2 GiB

// Reads /proc/self/maps with a fixed buffer and calls visit(begin, end, writable) for every mapping, in
// order.
template <typename Visit>
bool for_each_mapping(Visit visit) {
  int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char buffer[8192];
  size_t kept = 0;
  bool at_line_start = true;
  for (;;) {
    ssize_t got = read(file, buffer + kept, sizeof buffer - kept);
    if (got <= 0) break;
    size_t size = kept + static_cast<size_t>(got), begin = 0;
    for (size_t i = 0; i < size; ++i) {
      if (buffer[i] != '\n') continue;
      if (at_line_start) {
        char* rest = nullptr;
        uintptr_t from = strtoul(buffer + begin, &rest, 16);
        uintptr_t to = strtoul(rest + 1, &rest, 16);
        visit(from, to, rest[2] == 'w');  // " rwxp"
      }
      at_line_start = true;
      begin = i + 1;
    }
    kept = size - begin;
    memmove(buffer, buffer + begin, kept);
    if (kept == sizeof buffer) kept = 0;  // a longer line cannot be: paths end at 4,096 bytes
  }
  close(file);
  return true;
}

}  // namespace

uint8_t* allocate_near(AddressRange code, size_t bytes) {
  // Every byte of `code` must reach every byte of the memory, and the other way round.
  uintptr_t lowest = code.end > kReach ? code.end - kReach : kPageSize * 16;
  uintptr_t highest = code.begin + kReach;
  uintptr_t best = 0;
  uintptr_t gap_begin = kPageSize * 16;
  auto consider = [&](uintptr_t begin, uintptr_t end) {
    begin = std::max(begin, lowest);
    end = std::min(end, highest);
    if (begin >= end || end - begin < bytes) return;
    // Prefer the place nearest to the code.
    uintptr_t at = begin >= code.end ? begin : (end - bytes) & ~(kPageSize - 1);
    auto distance = [&](uintptr_t a) { return a > code.begin ? a - code.begin : code.begin - a; };
    if (best == 0 || distance(at) < distance(best)) best = at;
  };
  if (!for_each_mapping([&](uintptr_t begin, uintptr_t end, bool) {
        // A gap under a growing stack is not free: leave 1 MiB before every mapping.
        if (begin > gap_begin + (1 << 20)) consider(gap_begin, begin - (1 << 20));
        gap_begin = end;
      }))
    return nullptr;
  consider(gap_begin, 0x7fff00000000);
  if (best == 0) return nullptr;
  void* memory = mmap(reinterpret_cast<void*>(best), bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (reinterpret_cast<uintptr_t>(memory) !=
      best) {  // a kernel that does not know the flag took it as a hint
    munmap(memory, bytes);
    return nullptr;
  }
  return static_cast<uint8_t*>(memory);
}

bool make_executable(uint8_t* memory, size_t bytes) {
  return mprotect(memory, bytes, PROT_READ | PROT_EXEC) == 0;
}

int writable_parts(AddressRange code, AddressRange* parts, int limit) {
  int count = 0;
  for_each_mapping([&](uintptr_t begin, uintptr_t end, bool writable) {
    AddressRange part{std::max(begin, code.begin), std::min(end, code.end)};
    if (writable && part.begin < part.end && count < limit) parts[count++] = part;
  });
  return count;
}

void store_code(uintptr_t address, const uint8_t* bytes, size_t count) {
  const size_t at = address % 8;
  if (at + count > 8) {
    memcpy(reinterpret_cast<void*>(address), bytes, count);
    return;
  }
  auto* word = reinterpret_cast<uint64_t*>(address - at);
  uint64_t value = *word;
  memcpy(reinterpret_cast<uint8_t*>(&value) + at, bytes, count);
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

bool overwrite_code(uintptr_t address, const uint8_t* bytes, size_t count) {
  AddressRange pages = AddressRange::of(address, count).pages();
  auto* start = reinterpret_cast<void*>(pages.begin);
  // Executable all the while: other threads may run code on these pages.
  if (mprotect(start, pages.size(), PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  store_code(address, bytes, count);
  return mprotect(start, pages.size(), PROT_READ | PROT_EXEC) == 0;
}

}  // namespace diogenes::agent
