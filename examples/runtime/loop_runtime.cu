// A time loop with the CUDA runtime. Every step waits twice for the GPU:
// - cudaDeviceSynchronize after the first kernel, for which nobody has a use: an unnecessary synchronization;
// - cudaStreamSynchronize right behind the copy of the statistics, which the CPU reads only after other work
// of its own:
//   needed, but misplaced.
// --fixed: the first is gone, the second stands in front of the read.
#include "../common/host.h"
#include "check.h"

namespace {

constexpr int kCells = 64 * 1024;
constexpr size_t kBytes = kCells * sizeof(float);

__global__ void start(float* state) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  state[i] = static_cast<float>(i % 17) / 16;
}

// `source` changes with time, so that no two steps have the same result.
__global__ void advance(float* state, int rounds, float source) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = state[i];
  for (int r = 0; r < rounds; ++r) x = fmaf(x, 0.999f, 0.0007f);
  state[i] = x + source;
}

__global__ void statistics(float* result, const float* state, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = state[i];
  for (int r = 0; r < rounds; ++r) x = fmaf(x, 0.5f, state[i]);
  result[i] = x;
}

struct Loop {
  cudaStream_t stream = nullptr;
  float *state = nullptr, *result = nullptr;
  float* host_result = nullptr;  // pinned
  double forcing = 0.5;
  double sum = 0;
};

void prepare(Loop& loop) {
  CHECK(cudaStreamCreate(&loop.stream));
  CHECK(cudaMalloc(&loop.state, kBytes));
  CHECK(cudaMalloc(&loop.result, kBytes));
  CHECK(cudaMallocHost(&loop.host_result, kBytes));
  start<<<kCells / 256, 256, 0, loop.stream>>>(loop.state);
  CHECK(cudaGetLastError());
}

void step(Loop& loop, bool fixed, int time) {
  advance<<<kCells / 256, 256, 0, loop.stream>>>(loop.state, 150000, 1e-3f * static_cast<float>(time));
  CHECK(cudaGetLastError());
  if (!fixed) CHECK(cudaDeviceSynchronize());  // PLANTED: loop-runtime-synchronize
  loop.forcing += example::host_work(400, loop.forcing);

  statistics<<<kCells / 256, 256, 0, loop.stream>>>(loop.result, loop.state, 100000);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(loop.host_result, loop.result, kBytes, cudaMemcpyDeviceToHost, loop.stream));
  if (!fixed) CHECK(cudaStreamSynchronize(loop.stream));  // PLANTED: loop-runtime-early
  loop.forcing += example::host_work(700, loop.forcing);
  if (fixed) CHECK(cudaStreamSynchronize(loop.stream));
  loop.sum += example::mean(loop.host_result, kCells);
}

}  // namespace

int main(int argc, char** argv) {
  const example::Options options =
      example::parse_options(argc, argv, "Steps a model through time with the CUDA runtime.", 800);
  Loop loop;
  prepare(loop);
  for (int i = 1; i <= options.iterations; ++i) {
    step(loop, options.fixed, i);
    if (i % 100 == 0) std::printf("step %d: sum of means %.9f\n", i, loop.sum);
  }
  std::printf("loop_runtime: %d steps, forcing %.9f, sum of means %.9f, checksum %016llx\n",
              options.iterations, loop.forcing, loop.sum,
              static_cast<unsigned long long>(example::checksum(loop.host_result, kCells)));
  return 0;
}
