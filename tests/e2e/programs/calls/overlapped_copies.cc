// overlapped_copies: blocks of a pinned buffer go to the GPU and come back in place, in two streams by turns and two copies ahead,
// for each size of block; a wait ends each size. What is sent is the same from the third round on.
#include <cstdlib>
#include <cstring>

#include "cuda_user.h"

constexpr size_t kBuffer = 16 << 20, kSmallest = 64 << 10;

struct Stream {
  CUstream stream;
  CUdeviceptr a, b, c;
};

[[gnu::noinline]] static void send(const Stream& to, const char* host, size_t bytes) {
  CHECK(cuMemcpyHtoDAsync(to.a, host, bytes, to.stream));
  CHECK(cuMemcpyHtoDAsync(to.b, host, bytes, to.stream));
}

[[gnu::noinline]] static void add(CUfunction kernel, Stream& on, size_t bytes) {
  uint64_t words = bytes / sizeof(uint32_t), ns = 0;
  void* parameters[] = {&on.c, &on.a, &on.b, &words, &ns};
  CHECK(cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, on.stream, parameters, nullptr));
}

[[gnu::noinline]] static void fetch(char* host, const Stream& from, size_t bytes) {
  CHECK(cuMemcpyDtoHAsync(host, from.c, bytes, from.stream));
}

int main(int count, char** arguments) {
  const int rounds = count > 1 ? atoi(arguments[1]) : 4;
  const CudaUser user;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&kernel, module, "add"));
  Stream streams[2];
  for (Stream& stream : streams) {
    CHECK(cuStreamCreate(&stream.stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&stream.a, kBuffer));
    CHECK(cuMemAlloc(&stream.b, kBuffer));
    CHECK(cuMemAlloc(&stream.c, kBuffer));
  }
  void* pinned = nullptr;
  CHECK(cuMemAllocHost(&pinned, kBuffer));
  auto* host = static_cast<char*>(pinned);
  memset(host, 0, kBuffer);
  auto* words = static_cast<uint32_t*>(pinned);
  for (size_t i = 0; i < kBuffer / 8; ++i)
    words[i] = words[i + kBuffer / 8] = static_cast<uint32_t>(i * 2654435761u) << 16;
  bool same = true;
  for (int round = 0; round < rounds; ++round)
    for (size_t block = kSmallest; block <= kBuffer; block *= 2) {
      send(streams[0], host, block);
      add(kernel, streams[0], block);
      if (block < kBuffer) send(streams[1], host + block, block);
      for (size_t at = 0, turn = 0; at < kBuffer; at += block, turn ^= 1) {
        fetch(host + at, streams[turn], block);
        if (at + block < kBuffer) add(kernel, streams[turn ^ 1], block);
        if (at + 2 * block < kBuffer) send(streams[turn], host + at + 2 * block, block);
      }
      CHECK(cuCtxSynchronize());
      for (size_t i = 0; i < kBuffer / 8; i += 1024) same &= words[i] == words[i + kBuffer / 8];
    }
  say("%d rounds, %s\n", rounds, same ? "both halves are the same" : "the halves differ");
  return 0;
}
