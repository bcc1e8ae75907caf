// What the tests of this folder expect of the cubins is worked out from these lines by hand: where a line moves, they change.
// Compiled by make-cubins.sh.

__device__ __forceinline__ float third(float x) {
  return x * x + 0.5f;
}
__device__ __forceinline__ float second(float x) {
  return third(x) * 3.0f;
}
__device__ __forceinline__ float first(float x) {
  return second(x) - 1.0f;
}

// Two instances, functions inlined three deep.
template <int N>
__global__ void scaled(float* data, int n) {
#pragma unroll 1
  for (int round = 0; round < n; ++round)
    data[threadIdx.x] = first(data[threadIdx.x]) * N;
}
template __global__ void scaled<2>(float*, int);
template __global__ void scaled<7>(float*, int);

__device__ __noinline__ float leaf(float x, int n) {
#pragma unroll 1
  for (int i = 0; i < n; ++i)
    x = third(x);
  return x;
}
__device__ __noinline__ float middle(float x, int n) {
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i)
    sum += leaf(x + i, n);
  return sum;
}
// Calls middle once and leaf twice.
__global__ void direct(float* data, int n) {
  data[0] = middle(data[0], n);
  data[1] = leaf(data[1], n);
  data[2] = leaf(data[2], n + 1);
}

__device__ __noinline__ int depth(int n) {
  if (n < 2) return n;
  return depth(n - 1) + depth(n - 2) * 3;
}
__global__ void recursive(int* data) { data[0] = depth(data[0]); }

__device__ __noinline__ float doubled(float x) { return x + x; }
__device__ __noinline__ float squared(float x) { return x * x; }
__global__ void through_pointer(float* data, int which) {
  float (*function)(float) = which == 0 ? doubled : squared;
  data[threadIdx.x] = function(data[threadIdx.x]);
}

__global__ void nested(float* data, int n) {
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
#pragma unroll 1
    for (int j = 0; j < i; ++j) {
#pragma unroll 1
      for (int k = 0; k < j; ++k)
        data[k] += data[j];
    }
    data[i] += 1;
#pragma unroll 1
    for (int j = 0; j < n; ++j)
      data[j] *= data[i];
  }
}

// Four iterations at once, then what remains.
__global__ void unrolled(float* data, const float* more, int n) {
#pragma unroll 4
  for (int i = 0; i < n; ++i)
    data[i] = data[i] * more[i];
}

__global__ void cases(float* data, int which, int n) {
  float x = data[0];
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    switch ((which + i) % 8) {
      case 0: x = __sinf(x); break;
      case 1: x = x * data[1]; data[2] = x; break;
      case 2: x = __expf(x) + data[3]; break;
      case 3: x = sqrtf(x); data[5] = i; break;
      case 4: x = x - data[6]; break;
      case 5: x = __cosf(x); data[7] = x; break;
      case 6: x = x + data[8]; break;
      default: x = -x; data[9] = x;
    }
  }
  data[4] = x;
}

// A loop that is inlined in two places.
__device__ __forceinline__ float sum_of(const float* from, int n) {
  float sum = 0;
#pragma unroll 4
  for (int i = 0; i < n; ++i)
    sum += from[i];
  return sum;
}
__global__ void twice(float* data, int n) {
  data[0] = sum_of(data + 1, n);
  data[1] = sum_of(data + 2, n + 1);
}
