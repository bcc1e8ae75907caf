// full: memory in pieces whose release waits for work, and then one that fits into what is free, but not beside pieces that
// somebody keeps in between; the same while a stream is captured.
#include <cstdio>

#include "gpu.h"

namespace {

constexpr size_t kWords = 64 << 10;
constexpr int kPieces = 8, kWorkUs = 500;
constexpr size_t kGranularity = size_t{2} << 20;

// Takes half of what is free in pieces, and releases them, every second one first.
void take_and_release(example::Gpu& gpu, size_t bytes) {
  CUdeviceptr pieces[kPieces];
  for (CUdeviceptr& piece : pieces) CHECK(cuMemAlloc(&piece, bytes));
  for (int first = 1; first >= 0; --first)
    for (int i = first; i < kPieces; i += 2) {
      gpu.fill(pieces[i], static_cast<uint32_t>(i), kWords, kWorkUs);
      CHECK(cuMemFree(pieces[i]));
    }
}

uint32_t use_and_release(example::Gpu& gpu, CUdeviceptr memory) {
  uint32_t word = 0;
  gpu.fill(memory, 42, kWords, kWorkUs);
  CHECK(cuMemcpyDtoH(&word, memory, sizeof word));
  CHECK(cuMemFree(memory));
  return word;
}

}  // namespace

int main() {
  example::Gpu gpu;
  size_t free = 0, total = 0;
  CHECK(cuMemGetInfo(&free, &total));
  const size_t piece = free / (2 * kPieces) / kGranularity * kGranularity;
  // More than half, less than what is free beside pieces of a quarter.
  const size_t large = (kPieces + 1) * piece;
  CUdeviceptr memory = 0;
  take_and_release(gpu, piece);
  CHECK(cuMemAlloc(&memory, large));
  printf("%u\n", use_and_release(gpu, memory));

  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  take_and_release(gpu, piece);
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(cuMemAlloc(&memory, large));
  CHECK(cuStreamEndCapture(stream, &graph));
  printf("%u\n", use_and_release(gpu, memory));
}
