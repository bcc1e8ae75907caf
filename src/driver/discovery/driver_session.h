// A libcuda, loaded and initialized in this process, with a context and the two kernels with which the
// discovery holds the GPU. For the discovery child only. Functions are found by name in the given file, so
// that whichever driver it is, simulated or real, the same code runs.
#pragma once
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/units.h"
#define DIOGENES_CUDA_NO_NAME_MAPPING
#include "driver/cuda_abi.h"

namespace diogenes {

// The driver functions that the discovery calls, as exported.
// The formatter does not come to rest on this list.
// clang-format off
#define DISCOVERY_FUNCTIONS(F) \
  F(cuInit) F(cuDriverGetVersion) F(cuGetErrorName) F(cuDeviceGet) F(cuDeviceGetName) \
  F(cuCtxCreate_v2) F(cuCtxSetCurrent) F(cuCtxSynchronize) F(cuModuleLoadData) \
  F(cuModuleUnload) F(cuModuleGetFunction) F(cuLaunchKernel) F(cuStreamCreate) \
  F(cuStreamSynchronize) F(cuEventCreate) F(cuEventRecord) F(cuEventSynchronize) \
  F(cuEventQuery) F(cuMemAlloc_v2) F(cuMemFree_v2) F(cuMemAllocHost_v2) F(cuMemFreeHost) \
  F(cuMemHostAlloc) F(cuMemHostGetDevicePointer_v2) F(cuMemHostRegister_v2) \
  F(cuMemHostUnregister) F(cuMemAllocManaged) F(cuMemcpy) F(cuMemcpyHtoD_v2) \
  F(cuMemcpyDtoH_v2) F(cuMemcpyHtoDAsync_v2) F(cuMemcpyDtoHAsync_v2) F(cuMemsetD8_v2)
// clang-format on

struct DriverApi {
#define POINTER(name) decltype(&::name) name = nullptr;
  DISCOVERY_FUNCTIONS(POINTER)
#undef POINTER
};

// Host memory that the GPU reads: spin_until runs until `word` is not 0.
class Hold {
 public:
  void use(volatile uint32_t* word) { word_.store(word, std::memory_order_release); }
  void begin(Nanoseconds limit);  // the kernel may be launched; the watchdog ends the hold at the limit
  void release();                 // safe in a signal handler
  void check();                   // the watchdog's tick

 private:
  std::atomic<volatile uint32_t*> word_{nullptr};
  std::atomic<int64_t> deadline_{0};
};
extern Hold the_hold;

class DriverSession {
 public:
  // Loads, initializes, makes a context, loads the kernels and runs each once. Starts the watchdog.
  static Result<std::unique_ptr<DriverSession>> start(const std::filesystem::path& libcuda, const char* ptx);

  const DriverApi& api() const { return api_; }
  uintptr_t load_address() const { return load_address_; }  // l_addr: what is added to virtual addresses
  const std::string& path() const { return path_; }
  const std::string& device_name() const { return device_name_; }
  int version() const { return version_; }
  CUcontext context() const { return context_; }
  const char* ptx() const { return ptx_; }

  CUresult launch_spin(CUstream stream);       // until the hold is released
  CUresult launch_empty(CUstream stream);      // a kernel that ends at once
  std::string name_of(CUresult result) const;  // "CUDA_ERROR_NO_DEVICE (100)"

 private:
  DriverSession() = default;
  Status prepare();
  Error failed(const char* what, CUresult result, const char* advice) const;

  DriverApi api_;
  std::string path_, device_name_;
  uintptr_t load_address_ = 0;
  int version_ = 0;
  const char* ptx_ = nullptr;
  CUcontext context_ = nullptr;
  CUfunction spin_ = nullptr, busy_ = nullptr;
  CUdeviceptr flag_ = 0;
};

}  // namespace diogenes
