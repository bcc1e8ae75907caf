// The other half of linked.cu.
__device__ __forceinline__ float waved(float x) {
  return __sinf(x) * 0.5f;
}
__device__ float far_away(float x, int n) {
#pragma unroll 1
  for (int i = 0; i < n; ++i)
    x += waved(x);
  return x;
}
__device__ float by_name(float x) { return x + 1; }
__device__ float by_other_name(float x) { return x - 1; }
