// Compiled with -rdc=true and linked with linked_functions.cu by make-cubins.sh: each device function has a section of its own.
extern __device__ float far_away(float x, int n);
extern __device__ float by_name(float x);
extern __device__ float by_other_name(float x);

__device__ __forceinline__ float turned(float x) {
  return __cosf(x) + 1;
}
__device__ __noinline__ float near_by(float x, int n) {
  return far_away(turned(x), n) + far_away(x + 1, n);
}
__global__ void linked(float* data, int n) {
  data[0] = near_by(data[0], n);
  data[1] = far_away(data[1], n);
}
__global__ void pointed(float* data, int which) {
  float (*function)(float) = which == 0 ? by_name : by_other_name;
  data[0] = function(data[0]);
}
