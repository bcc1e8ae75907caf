// Scenes in which memory is released, seems to be, or is used again.
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "shared.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace scenes {
namespace {

constexpr uint64_t kAsExpected = 1'000'000'000'000;
constexpr size_t kLargeBytes = 384 * 1024, kHeapBytes = 64 * 1024;

using Memory = Mapped;
using Action = std::function<void()>;

// A download to registered memory, the tested wait, a call on that memory, and then the data is read.
uint64_t play_call(uint32_t value, const Action& wait, bool (*call)(Memory&),
                   void (*prepare)(Memory&) = nullptr) {
  Memory memory;
  memory.add_registration();
  if (prepare) prepare(memory);
  download(memory.words, value, shared->first);
  wait();
  const bool as_expected = call(memory);
  const uint64_t seen = sum(memory.words, kWords) + (as_expected ? kAsExpected : 0);
  finish();
  return seen;
}

template <int advice>
bool advised(Memory& memory) {
  return madvise(memory.words, memory.bytes, advice) == 0;
}

// Blocking, to pageable memory that nobody reads.
using Download = void (*)(void* to, size_t bytes);
void fill_device(uint32_t value, size_t bytes) {
  shared->gpu.fill(shared->device, value, bytes / 4, kBusyUs);
}

uint64_t play_malloc(uint32_t value, size_t bytes, Download copy) {
  void* const first = malloc(bytes);
  fill_device(value, bytes);
  copy(first, bytes);
  tell_gone(first, bytes);
  free(first);
  auto* const again = static_cast<uint32_t*>(malloc(bytes));
  set(again, bytes / 4, value + 1);
  finish();
  const uint64_t seen = sum(again, bytes / 4);
  free(again);
  return seen;
}

}  // namespace

uint64_t munmap_fails(uint32_t value) {
  return play_call(
      value, [] { TESTED(munmap_fails, cuStreamSynchronize, shared->first); },
      [](Memory& memory) { return munmap(reinterpret_cast<char*>(memory.words) + 1, memory.bytes) != 0; });
}
uint64_t map_fixed_fails(uint32_t value) {
  return play_call(
      value, [] { TESTED(map_fixed_fails, cuStreamSynchronize, shared->first); },
      [](Memory& memory) {
        return mmap(memory.words, memory.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, -1, 0) ==
               MAP_FAILED;
      });
}
uint64_t dontneed_locked(uint32_t value) {
  return play_call(
      value, [] { TESTED(dontneed_locked, cuStreamSynchronize, shared->first); },
      [](Memory& memory) { return madvise(memory.words, memory.bytes, MADV_DONTNEED) != 0; },
      [](Memory& memory) {
        if (mlock(memory.words, memory.bytes) != 0) perror("mlock");
      });
}
uint64_t populate_read(uint32_t value) {
  return play_call(
      value, [] { TESTED(populate_read, cuStreamSynchronize, shared->first); }, advised<MADV_POPULATE_READ>);
}
uint64_t populate_write(uint32_t value) {
  return play_call(
      value, [] { TESTED(populate_write, cuStreamSynchronize, shared->first); },
      advised<MADV_POPULATE_WRITE>);
}
uint64_t dontfork(uint32_t value) {
  return play_call(
      value, [] { TESTED(dontfork, cuStreamSynchronize, shared->first); }, advised<MADV_DONTFORK>);
}

uint64_t wipe_on_fork(uint32_t value) {
  return play_call(
      value, [] { TESTED(wipe_on_fork, cuStreamSynchronize, shared->first); }, advised<MADV_WIPEONFORK>);
}
uint64_t keep_on_fork(uint32_t value) {
  return play_call(
      value, [] { TESTED(keep_on_fork, cuStreamSynchronize, shared->first); }, advised<MADV_KEEPONFORK>);
}
uint64_t dontneed_pinned(uint32_t value) {
  Pinned pinned;
  download(pinned.words, value, shared->first);
  TESTED(dontneed_pinned, cuStreamSynchronize, shared->first);
  madvise(pinned.words, kBytes, MADV_DONTNEED);  // a driver's mapping may refuse it
  const uint64_t seen = sum(pinned.words, kWords);
  finish();
  return seen;
}

uint64_t map_fixed_over(uint32_t value) {
  Memory memory(kLargeBytes);
  fill_device(value, kLargeBytes);
  TESTED(map_fixed_over, cuMemcpyDtoH, memory.words, shared->device, kLargeBytes);
  tell_gone(memory.words, kLargeBytes);
  const bool mapped = mmap(memory.words, kLargeBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory.words;
  memory.words[0] = value;
  finish();
  return sum(memory.words, kLargeBytes / 4) + (mapped ? kAsExpected : 0);
}
uint64_t dontneed(uint32_t value) {
  Memory memory(kLargeBytes);
  fill_device(value, kLargeBytes);
  TESTED(dontneed, cuMemcpyDtoH, memory.words, shared->device, kLargeBytes);
  tell_gone(memory.words, kLargeBytes);
  const bool advised_so = advised<MADV_DONTNEED>(memory);
  memory.words[0] = value;
  finish();
  return sum(memory.words, kLargeBytes / 4) + (advised_so ? kAsExpected : 0);
}

uint64_t malloc_again(uint32_t value) {
  return play_malloc(value, kHeapBytes, [](void* to, size_t bytes) {
    TESTED(malloc_again, cuMemcpyDtoH, to, shared->device, bytes);
  });
}
uint64_t malloc_again_small(uint32_t value) {
  return play_malloc(value, kSmallWords * 4, [](void* to, size_t bytes) {
    TESTED(malloc_again_small, cuMemcpyDtoH, to, shared->device, bytes);
  });
}

namespace {

// The program's own: the last block that came back is the next to go out.
class Pool {
 public:
  Pool() { memory_.add_registration(); }
  uint32_t* take() { return memory_.words + kWords * --left_; }
  void give_back() { ++left_; }

 private:
  Memory memory_{4 * kBytes};
  size_t left_ = 4;
};

}  // namespace

uint64_t pool_again(uint32_t value) {
  Pool pool;
  download(pool.take(), value, shared->first);
  TESTED(pool_again, cuStreamSynchronize, shared->first);
  pool.give_back();
  uint32_t* const again = pool.take();
  set(again, kWords, value + 1);
  finish();
  return sum(again, kWords);
}

uint64_t block_again(uint32_t value) {
  constexpr size_t kPage = 4096, kBlockBytes = kBytes + 2 * kPage;
  mallopt(M_TRIM_THRESHOLD, 64 << 20);  // what is registered must stay
  void* const block = malloc(kBlockBytes);
  const auto at = (reinterpret_cast<size_t>(block) + kPage - 1) / kPage * kPage;
  auto* const words = reinterpret_cast<uint32_t*>(at);
  CHECK(cuMemHostRegister(words, kBytes, 0));
  download(words, value, shared->first);
  TESTED(block_again, cuStreamSynchronize, shared->first);
  free(block);
  if (malloc(kBlockBytes) != block)
    fprintf(stderr, "malloc returned another block\n");  // kept, and registered
  set(words, kWords, value + 1);
  finish();
  return sum(words, kWords);
}

// ---- an address that is given out again
namespace {

CUdeviceptr new_device() {
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, kBytes));
  return memory;
}
uint32_t* new_host() {
  void* memory = nullptr;
  CHECK(cuMemAllocHost(&memory, kBytes));
  set(static_cast<uint32_t*>(memory), kWords, 7);
  return static_cast<uint32_t*>(memory);
}

// Work on the second memory, in another stream.
uint64_t use_second(uint32_t value) {
  Shared& s = *shared;
  const CUdeviceptr again = new_device();
  s.gpu.fill(again, value + 1, kWords, 10, s.second);
  CHECK(cuStreamSynchronize(s.second));
  const uint64_t seen = device_sum(again, kWords);
  finish();
  CHECK(cuMemFree(again));
  return seen;
}

}  // namespace

uint64_t alloc_again(uint32_t value) {
  Shared& s = *shared;
  const CUdeviceptr memory = new_device();
  s.gpu.fill(memory, value, kWords, kBusyUs, s.first);
  TESTED(alloc_again, cuStreamSynchronize, s.first);
  CHECK(cuMemFree(memory));
  return use_second(value);
}
uint64_t alloc_again_free(uint32_t value) {
  Shared& s = *shared;
  const CUdeviceptr memory = new_device();
  s.gpu.fill(memory, value, kWords, kBusyUs, s.first);
  TESTED(alloc_again_free, cuMemFree, memory);
  return use_second(value);
}
uint64_t alloc_again_read(uint32_t value) {
  Shared& s = *shared;
  const CUdeviceptr memory = new_device();
  s.gpu.fill(memory, value, kWords, kBusyUs, s.first);
  CHECK(cuMemFree(memory));
  const CUdeviceptr again = new_device();
  s.gpu.fill(again, value + 1, kWords, kBusyUs, s.first);
  TESTED(alloc_again_read, cuStreamSynchronize, s.first);
  s.gpu.copy(s.result, again, kWords, 10, s.second);
  finish();
  CHECK(cuMemFree(again));
  return device_sum(s.result, kWords);
}
uint64_t alloc_host_again(uint32_t value) {
  uint32_t* const memory = new_host();
  download(memory, value, shared->first);
  TESTED(alloc_host_again, cuStreamSynchronize, shared->first);
  CHECK(cuMemFreeHost(memory));
  uint32_t* const again = new_host();
  set(again, kWords, value + 1);
  finish();
  const uint64_t seen = sum(again, kWords);
  CHECK(cuMemFreeHost(again));
  return seen;
}
uint64_t alloc_host_again_read(uint32_t value) {
  uint32_t* const memory = new_host();
  download(memory, value, shared->first);
  CHECK(cuMemFreeHost(memory));
  uint32_t* const again = new_host();
  download(again, value + 1, shared->first);
  TESTED(alloc_host_again_read, cuStreamSynchronize, shared->first);
  const uint64_t seen = sum(again, kWords);
  finish();
  CHECK(cuMemFreeHost(again));
  return seen;
}

uint64_t shared_where_private(uint32_t value) {
  Memory memory;
  memory.add_registration();
  download(memory.words, value, shared->first);
  CHECK(cuStreamSynchronize(shared->first));
  uint64_t seen = sum(memory.words, kWords);
  memory.end_registration();
  const int file = memfd_create("shared", MFD_CLOEXEC);
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  if (ftruncate(file, kBytes) != 0 ||
      mmap(memory.words, kBytes, kAccess, MAP_SHARED | MAP_FIXED, file, 0) != memory.words)
    perror("mmap");
  auto* const other = static_cast<uint32_t*>(mmap(nullptr, kBytes, kAccess, MAP_SHARED, file, 0));
  close(file);
  memory.add_registration();
  download(memory.words, value + 1, shared->first);
  TESTED(shared_where_private, cuStreamSynchronize, shared->first);
  seen += sum(other, kWords) * 3;
  finish();
  munmap(other, kBytes);
  return seen;
}

uint64_t second_mapping(uint32_t value) {
  Pinned pinned;
  void* second = mremap(pinned.words, 0, kBytes, MREMAP_MAYMOVE);
  const bool mapped = second != MAP_FAILED;  // a driver's mapping may refuse it
  download(pinned.words, value, shared->first);
  TESTED(second_mapping, cuStreamSynchronize, shared->first);
  const uint64_t seen = sum(mapped ? static_cast<uint32_t*>(second) : pinned.words, kWords);
  finish();
  if (mapped) munmap(second, kBytes);
  return seen;
}

}  // namespace scenes
