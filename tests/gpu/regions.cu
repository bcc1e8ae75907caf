// What shares.py samples: a kernel of six regions, two instances of a template whose functions are inlined three deep, and a
// kernel that calls two functions that are not inlined. Lines of a region end in `// region NAME`.
//
//   regions [TURNS [LAUNCHES [WAVES]]]
//
// WAVES: of blocks, of 8 a multiprocessor. With two of them all warps go through the regions in step.
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

__device__ __forceinline__ float third(float x, int turns) {
  for (int i = 0; i < turns; ++i) x = x * 1.0001f + .5f;  // region third
  return x;
}
__device__ __forceinline__ float second(float x, int turns) {
  return third(x, turns) * .5f;  // region second
}
__device__ __forceinline__ float first(float x, int turns) {
  return second(x + 1.f, turns) - 1.f;  // region first
}

template <int Factor>
__global__ void scaled(float* data, int count, int turns) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    data[i] = first(data[i], turns * Factor);  // region scaled
}

__device__ __noinline__ float inner(float x, int turns) {
  for (int i = 0; i < turns; ++i) x += __sinf(x) * .25f;  // region inner
  return x;
}
__device__ __noinline__ float outer(float x, int turns) {
  for (int i = 0; i < turns; i += 64) x = inner(x, 64) * .75f;  // region outer
  return x;
}
__global__ void through_calls(float* data, int count, int turns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = outer(data[i], turns) + inner(data[i], turns / 2);  // region caller
}

__global__ void regions(const float* table, unsigned mask, float* out, unsigned* counts, int turns) {
  __shared__ float shared[256];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = i * 1e-6f;
  for (int k = 0; k < turns; ++k) x = x * 1.0001f + .5f;  // region arithmetic
  float y = x;
  for (int k = 0; k < turns / 8; ++k) y = __sinf(y) + 1.f;  // region special
  unsigned at = i * 2654435761u;
  float z = 0;
  for (int k = 0; k < turns / 16; ++k) {  // region memory
    z += table[at & mask];                // region memory
    at = at * 1664525u + 1013904223u;     // region memory
  }
  for (int k = 0; k < turns / 16; ++k) {    // region barriers
    shared[threadIdx.x] = z;                // region barriers
    __syncthreads();                        // region barriers
    z += shared[(threadIdx.x + 33) & 255];  // region barriers
    __syncthreads();                        // region barriers
  }
  unsigned d = i | 1u;
  for (int k = 0; k < turns / 64; ++k) d = (k + 1000000007u) / d + 3u;  // region division
  for (int k = 0; k < turns / 128; ++k)                                 // region atomics
    atomicAdd(&counts[(d + k * 977u + i) & 65535u], 1u);                // region atomics
  out[i] = x + y + z + d;
}

int main(int argc, char** argv) {
  const auto argument = [&](int i, int otherwise) { return argc > i ? atoi(argv[i]) : otherwise; };
  const int turns = argument(1, 1024), launches = argument(2, 60), waves = argument(3, 40);
  int multiprocessors = 0;
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  constexpr int kThreads = 256;
  constexpr unsigned kTable = 1u << 20;  // numbers: each is read often, and all fit into the cache
  const int blocks = multiprocessors * 8 * waves, count = blocks * kThreads;
  float *table, *out;
  unsigned* counts;
  cudaMalloc(&table, kTable * sizeof(float));
  cudaMalloc(&out, count * sizeof(float));
  cudaMalloc(&counts, 65536 * sizeof(unsigned));
  cudaMemset(table, 0, kTable * sizeof(float));
  cudaMemset(out, 0, count * sizeof(float));
  cudaMemset(counts, 0, 65536 * sizeof(unsigned));
  for (int k = 0; k < launches; ++k) {
    regions<<<blocks, kThreads>>>(table, kTable - 1, out, counts, turns);
    scaled<2><<<2 * multiprocessors, kThreads>>>(out, 8 * 2 * multiprocessors * kThreads, 4 * turns);
    scaled<3><<<2 * multiprocessors, kThreads>>>(out, 8 * 2 * multiprocessors * kThreads, 4 * turns);
    through_calls<<<2 * multiprocessors, kThreads>>>(out, 2 * multiprocessors * kThreads, turns);
  }
  cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
