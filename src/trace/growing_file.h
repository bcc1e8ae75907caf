// A file of records that only grows, in reserved memory: what was written stays where it is. A record is known by its place
// in units of 8 bytes; 0: none. Whoever reads the file sees whole records alone, wherever it is cut.
#pragma once
#include <sys/mman.h>

#include <cstring>

#include "trace/format.h"

namespace diogenes {

// One thread at a time adds to it.
class GrowingFile {
 public:
  using MapPart = void* (*)(const char* name, uint64_t offset, size_t bytes,
                            void* where);  // process_folder.h

  // The place of the next record, of at most `bytes`. Null: there is no room. `most`: of the whole file.
  uint8_t* make_room(const char* name, size_t bytes, MapPart map_part, size_t most = kReserved) {
    if (!memory_) {
      void* memory = mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) return nullptr;
      memory_ = static_cast<uint8_t*>(memory);
    }
    while (used_ + bytes + sizeof(FileHeader) > mapped_) {
      if (mapped_ + kPart > most || !map_part(name, mapped_, kPart, memory_ + mapped_)) return nullptr;
      mapped_ += kPart;
    }
    if (used_ == 0) {
      FileHeader header{};
      memcpy(header.magic, kTraceMagic, sizeof kTraceMagic);
      header.version = kTraceVersion;
      memcpy(memory_, &header, sizeof header);
      used_ = sizeof header;
    }
    return memory_ + used_;
  }
  // The record is there but for the first 8 bytes of `header`, which are not 0. Out: its place.
  template <typename Header>
  uint32_t add(const Header& header, size_t bytes) {
    uint64_t first;
    memcpy(&first, &header, sizeof first);
    // release: the rest is there before. Pairs with the reader's check for zero.
    __atomic_store_n(reinterpret_cast<uint64_t*>(memory_ + used_), first, __ATOMIC_RELEASE);
    const auto place = static_cast<uint32_t>(used_ / 8);
    used_ += bytes;
    return place;
  }
  // Null: there is no file yet.
  const uint8_t* at(uint32_t place) const { return memory_ ? memory_ + size_t{place} * 8 : nullptr; }

  // In a forked child: it is the parent's.
  void forget() {
    if (memory_) munmap(memory_, kReserved);
    memory_ = nullptr;
    mapped_ = used_ = 0;
  }

 private:
  static constexpr size_t kReserved = 256 << 20, kPart = 256 << 10;
  uint8_t* memory_ = nullptr;
  size_t mapped_ = 0, used_ = 0;
};

}  // namespace diogenes
