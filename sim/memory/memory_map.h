// Which addresses are the device's, and the device's own way to their bytes.
//   device      addresses reserved without access, so that a CPU access faults; the bytes are in a memory file
//               that is mapped elsewhere
//   pinned,     pages of a memory file, mapped once for the program and once for the device: what the program
//   managed     does to the protection of its mapping never stops the device, as with DMA. Pinned memory of less
//               than 2 MiB is given in steps of 512 bytes, as by the real driver: allocations share pages
//   registered  the program's own pages, reached through /proc/self/mem, which heeds no protection either
// Anything else is pageable: the driver copies it on the calling thread, through the program's mapping.
// Thread-safe; never called with a driver lock wanted (it has its own, taken last).
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace diogenes::sim {

struct Context;

enum class MemoryKind : uint8_t { device, pinned, managed, registered };

struct Allocation {
  uintptr_t base = 0;
  size_t bytes = 0;  // as asked for
  MemoryKind kind = MemoryKind::device;
  bool stream_ordered = false;
  unsigned flags = 0;
  Context* context = nullptr;
  uint64_t id = 0;
  char* alias = nullptr;  // the device's mapping; null: registered
  uint64_t offset = 0;    // in its memory file
  size_t reserved = 0;    // bytes there
};

class MemoryMap {
 public:
  // Null: out of memory.
  uintptr_t allocate_device(size_t bytes, Context* context, bool stream_ordered);
  uintptr_t allocate_host(size_t bytes, MemoryKind kind, unsigned flags, Context* context);
  bool register_host(uintptr_t base, size_t bytes, unsigned flags,
                     Context* context);  // false: overlaps another
  // `base` must be an allocation's base, of a kind that `accept` takes.
  bool release(uintptr_t base, const std::function<bool(const Allocation&)>& accept);
  void release_all(const Context* context);

  std::optional<Allocation> find(uintptr_t address) const;
  void usage(size_t* free_bytes, size_t* total_bytes) const;

  // The device's view of [address, address + bytes) where it is one piece of memory: else null.
  char* direct(uintptr_t address, size_t bytes) const;
  // Device access to any known memory; false: the address is not the device's to use.
  bool read(void* to, uintptr_t address, size_t bytes) const;
  bool read_any(void* to, uintptr_t address, size_t bytes) const;  // pageable too, through /proc/self/mem
  bool write(uintptr_t address, const void* from, size_t bytes) const;
  bool write_any(uintptr_t address, const void* from, size_t bytes) const;  // as read_any
  bool copy(uintptr_t destination, uintptr_t source, size_t bytes) const;
  bool fill(uintptr_t destination, uint32_t value, unsigned width, size_t count) const;
};

MemoryMap& memory_map();
size_t device_memory_bytes();

}  // namespace diogenes::sim
