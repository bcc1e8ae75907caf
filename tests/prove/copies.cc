// copies: copies that wait, and what programs do with their results and sources at once. Prints what it sees.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "gpu.h"

namespace {

constexpr size_t kWords = 16384, kBytes = kWords * sizeof(uint32_t);
constexpr uint64_t kWorkUs = 3'000;

// Results that share no page with the heap.
template <typename T>
struct WholePages {
  using value_type = T;
  T* allocate(size_t count) {
    return static_cast<T*>(aligned_alloc(4096, (count * sizeof(T) + 4095) / 4096 * 4096));
  }
  void deallocate(T* memory, size_t) { free(memory); }
  bool operator==(const WholePages&) const { return true; }
};
using Words = std::vector<uint32_t, WholePages<uint32_t>>;

example::Gpu* gpu = nullptr;
CUdeviceptr device = 0, other = 0;

// An address whose value the compiler does not follow.
const uint32_t* seen(const void* address) {
  const void* volatile hidden = address;
  return static_cast<const uint32_t*>(hidden);
}

uint32_t sum(const void* address, size_t words = kWords) {
  uint32_t result = 0;
  for (size_t i = 0; i < words; ++i) result = result * 31 + seen(address)[i];
  return result;
}

void say(const char* what, uint32_t value) {
  printf("%s %u\n", what, value);
  fflush(stdout);
}

void bring(void* to, uint32_t value, CUdeviceptr from = device) {
  gpu->fill(from, value, kWords, kWorkUs);
  CHECK(cuMemcpyDtoH(to, from, kBytes));
}

uint32_t on_device(CUdeviceptr at) {
  Words words(kWords);
  CHECK(cuMemcpyDtoH(words.data(), at, kBytes));
  return sum(words.data());
}

void results() {
  Words words(kWords);
  bring(words.data(), 1);
  say("read", sum(words.data()));
  bring(words.data(), 2);
  bring(words.data(), 3);
  say("overwritten", sum(words.data()));
  bring(words.data(), 4);
  gpu->fill(other, 5, kWords, kWorkUs);
  CHECK(cuMemcpyDtoH(words.data() + kWords / 4, other, kBytes / 2));
  say("overlapping", sum(words.data()));
  bring(words.data(), 6);
  words[9] = 7;
  say("written", sum(words.data()));
  bring(words.data(), 8);
  CHECK(cuMemcpyHtoD(other, words.data(), kBytes));
  say("sent on", on_device(other));
  Words unaligned(kWords * 2);
  char* inside = reinterpret_cast<char*>(unaligned.data()) + 4099;
  bring(inside, 9);
  memmove(unaligned.data(), inside, kBytes);
  say("unaligned", sum(unaligned.data()));
  gpu->fill(device, 10, kWords, kWorkUs);
  CHECK(cuMemcpyDtoHAsync(words.data(), device, kBytes, nullptr));
  say("asynchronous", sum(words.data()));
}

// Calls that wait as before, between a result and its first touch.
void beside_others() {
  for (int round = 0; round < 3; ++round) {
    auto* words = new Words(kWords);
    uint32_t small = 0;
    bring(words->data(), 20 + static_cast<uint32_t>(round));
    CHECK(cuMemcpyDtoH(&small, device, sizeof small));
    if (round == 1) {
      delete words;
      words = new Words(kWords, 5);
    }
    say("behind a small one", sum(words->data()) + small);
    delete words;
  }
  Words words(kWords), behind(kWords);
  bring(words.data(), 23);
  CHECK(cuMemcpyHtoD(other, behind.data(), 4));
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, kBytes));
  CHECK(cuMemFree(memory));
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  gpu->fill(other, 24, kWords, kWorkUs, stream);
  while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) std::this_thread::yield();
  CHECK(cuMemcpyDtoHAsync(behind.data(), other, kBytes, stream));
  CHECK(cuStreamDestroy(stream));
  say("behind others", sum(words.data()) ^ sum(behind.data()));
}

void handed_over() {
  Words words(kWords);
  bring(words.data(), 11);
  int ends[2];
  CHECK(pipe(ends) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
  std::thread reader([&] {
    Words got(kWords);
    for (size_t done = 0; done < kBytes;)
      done += static_cast<size_t>(
          std::max<ssize_t>(0, read(ends[0], reinterpret_cast<char*>(got.data()) + done, kBytes - done)));
    say("by a system call", sum(got.data()));
  });
  for (size_t done = 0; done < kBytes;)
    done += static_cast<size_t>(
        std::max<ssize_t>(0, write(ends[1], reinterpret_cast<char*>(words.data()) + done, kBytes - done)));
  reader.join();
  bring(words.data(), 12);
  std::thread([&] { say("by another thread", sum(words.data())); }).join();
  std::atomic<int> turn{0};
  std::thread second([&] {
    for (uint32_t i = 0; i < 20; ++i) {
      while (turn != 1) std::this_thread::yield();
      if (const uint32_t got = *seen(words.data() + kWords - 1); got != 100 + i) say("too early", got);
      turn = 0;
    }
  });
  for (uint32_t i = 0; i < 20; ++i) {
    bring(words.data(), 100 + i);
    turn = 1;
    while (turn != 0) std::this_thread::yield();
  }
  second.join();
  bring(words.data(), 13);
  if (fork() == 0) {
    say("by a child", sum(words.data()));
    _exit(0);
  }
  wait(nullptr);
}

void gone() {
  for (int i = 0; i < 3; ++i) {
    void* mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bring(mapped, 14);
    munmap(mapped, kBytes);
    void* again =
        mmap(mapped, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    say("unmapped, and mapped again", sum(again));
    munmap(again, kBytes);
  }
  for (uint32_t i = 0; i < 300; ++i) {
    Words words(kWords);
    gpu->fill(device, i, kWords, 50);
    CHECK(cuMemcpyDtoH(words.data(), device, kBytes));
  }
  static Words kept[600];
  for (uint32_t i = 0; i < 600; ++i) {
    kept[i].resize(kWords);
    gpu->fill(device, i, kWords, 50);
    CHECK(cuMemcpyDtoH(kept[i].data(), device, kBytes));
  }
  constexpr size_t kPieces = 2500, kPiece = 1024;
  Words pieces(kPieces * kPiece);
  for (uint32_t i = 0; i < kPieces; ++i) {
    gpu->fill(device, i, kPiece, 1);
    CHECK(cuMemcpyDtoH(pieces.data() + i * kPiece, device, kPiece * sizeof(uint32_t)));
  }
  say("more than can be kept", sum(pieces.data(), pieces.size()));
  uint32_t all = 0;
  for (const Words& words : kept) all = all * 31 + sum(words.data(), 8);
  say("many, read later", all);
}

void sources() {
  Words words(kWords);
  for (uint32_t i = 0; i < kWords; ++i) words[i] = i;
  gpu->fill(device, 1, kWords, kWorkUs);
  CHECK(cuMemcpyHtoD(device, words.data(), kBytes));
  words.assign(kWords, 0);
  say("source changed", on_device(device));
  for (uint32_t i = 0; i < kWords; ++i) words[i] = i * 3;
  for (int round = 0; round < 3; ++round) {
    CHECK(cuMemcpyHtoD(device, words.data(), kBytes));
    CHECK(cuMemcpyHtoD(other, words.data(), kBytes));
    say("again", on_device(device) ^ on_device(other));
    gpu->fill(device, 5, kWords, kWorkUs);
  }
  CHECK(cuMemcpyHtoD(device, words.data(), kBytes));
  say("again, over other bytes", on_device(device));
  for (const uint32_t value : {0u, 0x01010101u, 0x00ff00ffu, 0x12345678u}) {
    words.assign(kWords, value);
    CHECK(cuMemcpyHtoD(device, words.data(), kBytes));
    CHECK(cuMemcpyHtoD(other + 2, words.data(), kBytes - 6));
    say("one value", on_device(device) ^ on_device(other));
  }
  auto* pinned = example::pinned_floats(kWords);
  for (uint32_t i = 0; i < kWords; ++i) memcpy(pinned + i, &i, sizeof i);
  gpu->fill(device, 1, kWords, kWorkUs);
  CHECK(cuMemcpyHtoD(device, pinned, kBytes));
  memset(pinned, 0, kBytes);
  say("pinned source changed", on_device(device));
  bring(pinned, 15);
  say("pinned", sum(pinned));
}

// One source is sent again and again, so that its content is known without a look, and then somebody writes there.
void send_often(const char* writer, void* source, const std::function<void()>& write) {
  for (int i = 0; i < 5; ++i) CHECK(cuMemcpyHtoD(device, source, kBytes));
  say(writer, on_device(device));
  for (int i = 0; i < 2; ++i) {
    write();
    for (int again = 0; again < 3; ++again) CHECK(cuMemcpyHtoD(device, source, kBytes));
    say(writer, on_device(device));
  }
}

void rewritten_sources() {
  Words pageable(kWords + 1024), registered(kWords);
  auto* const pinned = reinterpret_cast<uint32_t*>(example::pinned_floats(kWords));
  CHECK(cuMemHostRegister(registered.data(), kBytes, 0));
  uint32_t value = 0;
  for (uint32_t* const source : {pageable.data(), pageable.data() + 3, registered.data(), pinned}) {
    uint32_t* const last = source + kWords - 1;
    for (uint32_t i = 0; i < kWords; ++i) source[i] = ++value;
    send_often("nobody", source, [] {});
    send_often("the program, in the middle", source, [&] { ++source[kWords / 2]; });
    send_often("the program, at the begin", source, [&] { ++*source; });
    send_often("the program, at the end", source, [&] { ++*last; });
    send_often("a blocking copy", source, [&] {
      gpu->fill(other, ++value, kWords, 100);
      CHECK(cuMemcpyDtoH(source + kWords / 2, other, kBytes / 2));
    });
    send_often("an asynchronous copy", source, [&] {
      gpu->fill(other, ++value, kWords, 100);
      CHECK(cuMemcpyDtoHAsync(source + 2048, other, kBytes / 4, nullptr));
      CHECK(cuCtxSynchronize());
    });
    send_often("a system call", source, [&] {
      int ends[2];
      CHECK(pipe(ends) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
      const uint32_t words[2] = {++value, ++value};
      CHECK(write(ends[1], words, sizeof words) == sizeof words ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
      CHECK(read(ends[0], source + 4000, sizeof words) == sizeof words ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
      close(ends[0]), close(ends[1]);
    });
    send_often("a child that shares nothing", source, [&] {
      if (fork() == 0) {
        ++*source;
        _exit(0);
      }
      wait(nullptr);
    });
  }
  CHECK(cuMemHostUnregister(registered.data()));
  void* const mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  send_often("another mapping", mapped, [&] {
    munmap(mapped, kBytes);
    mmap(mapped, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    static_cast<uint32_t*>(mapped)[7] = ++value;
  });
  munmap(mapped, kBytes);
}

// By those beside whom less is corrected: a kernel that is given the source, another thread.
void rewritten_by_others() {
  auto* const pinned = reinterpret_cast<uint32_t*>(example::pinned_floats(kWords));
  uint32_t value = 70;
  CUdeviceptr seen_by_gpu = 0;
  CHECK(cuMemHostGetDevicePointer(&seen_by_gpu, pinned, 0));
  send_often("a kernel", pinned, [&] {
    gpu->fill(seen_by_gpu, ++value, kWords / 2, 100);
    CHECK(cuCtxSynchronize());
  });
  Words pageable(kWords);
  send_often("another thread", pageable.data(), [&] { std::thread([&] { ++pageable[5000]; }).join(); });
}

// A file that is mapped: who writes the file, writes the source.
void mapped_files() {
  for (const int how : {MAP_SHARED, MAP_PRIVATE}) {
    FILE* const file = tmpfile();
    CHECK(file && ftruncate(fileno(file), kBytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
    void* const mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, how, fileno(file), 0);
    uint32_t value = 40;
    send_often("the file", mapped, [&] {
      ++value;
      CHECK(pwrite(fileno(file), &value, 4, 8192) == 4 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
    });
    munmap(mapped, kBytes);
    fclose(file);
  }
}

// Of memory that the host reaches, behind a kernel: the CPU reads, writes or sends it on at once.
void fills() {
  CUdeviceptr managed = 0, pinned = 0;
  auto* const host = reinterpret_cast<uint32_t*>(example::pinned_floats(kWords));
  CHECK(cuMemHostGetDevicePointer(&pinned, host, 0));
  CHECK(cuMemAllocManaged(&managed, kBytes, CU_MEM_ATTACH_GLOBAL));
  for (const CUdeviceptr memory : {managed, pinned}) {
    auto* const words =
        reinterpret_cast<uint32_t*>(memory == managed ? managed : reinterpret_cast<uintptr_t>(host));
    const auto behind_kernel = [&](uint32_t value) { gpu->fill(memory, value, kWords, kWorkUs); };
    for (uint32_t round = 0; round < 3; ++round) {
      behind_kernel(30 + round);
      CHECK(cuMemsetD8(memory, static_cast<unsigned char>(round), kBytes));
      say("filled", sum(words));
    }
    behind_kernel(31);
    CHECK(cuMemsetD32(memory, 0x12345678, kWords / 2));
    say("half of it", sum(words));
    behind_kernel(32);
    CHECK(cuMemsetD16(memory + 4096, 0x1234, kWords));
    words[1500] = 33;
    say("filled, and written", sum(words));
    behind_kernel(34);
    CHECK(cuMemsetD8(memory, 1, kBytes));
    CHECK(cuMemsetD8(memory + 2, 2, 7));
    CHECK(cuMemcpyHtoD(other, words, kBytes));
    say("filled, and sent on", on_device(other));
    behind_kernel(35);
    CHECK(cuMemsetD2D8(memory, 128, 3, 64, kBytes / 128));
    say("rows", sum(words));
    gpu->fill(device, 36, kWords, kWorkUs);
    CHECK(cuMemsetD8(memory, 4, kBytes));
    say("behind other work", sum(words));
  }
  say("fill of nothing", static_cast<uint32_t>(cuMemsetD8(managed, 1, 0)));
  say("fill of too much", static_cast<uint32_t>(cuMemsetD8(managed, 1, kBytes * 1000)));
  CHECK(cuMemFree(managed));
}

// What cannot be, stays an error.
void refused() {
  say("nothing to read", static_cast<uint32_t>(cuMemcpyHtoD(device, nullptr, kBytes)));
  say("nothing to write", static_cast<uint32_t>(cuMemcpyDtoH(nullptr, device, kBytes)));
  Words words(kWords);
  say("no bytes", static_cast<uint32_t>(cuMemcpyHtoD(device, words.data(), 0)));
  say("no device", static_cast<uint32_t>(cuMemcpyHtoD(42, words.data(), kBytes)));
  say("too many bytes", static_cast<uint32_t>(cuMemcpyHtoD(device, words.data(), kBytes)));
}

// No file can be opened where results are delivered.
void without_files() {
  Words words(kWords);
  bring(words.data(), 16);
  std::vector<int> taken;
  for (int file; (file = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.push_back(file);
  say("without files", sum(words.data()));
  for (const int file : taken) close(file);
}

}  // namespace

int main() {
  gpu = new example::Gpu;
  CHECK(cuMemAlloc(&device, kBytes));
  CHECK(cuMemAlloc(&other, kBytes));
  results();
  sources();
  rewritten_sources();
  mapped_files();
  gone();
  beside_others();
  refused();
  without_files();
  fills();
  rewritten_by_others();
  handed_over();
  return 0;
}
