// A libcuda on a machine whose GPU cannot be used: everything is exported, and cuInit fails.
extern "C" {
int cuInit(unsigned) { return 100; }
int cuGetErrorName(int error, const char** name) {
  *name = error == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_UNKNOWN";
  return 0;
}
int cuDeviceGet(int*, int) { return 3; }
int cuCtxCreate_v2(void**, unsigned, int) { return 3; }
int cuCtxSetCurrent(void*) { return 3; }
int cuCtxSynchronize() { return 3; }
int cuModuleLoadData(void**, const void*) { return 3; }
int cuModuleGetFunction(void**, void*, const char*) { return 3; }
int cuMemHostAlloc(void**, unsigned long, unsigned) { return 3; }
int cuMemHostGetDevicePointer_v2(unsigned long long*, void*, unsigned) { return 3; }
int cuLaunchKernel() { return 3; }
}
