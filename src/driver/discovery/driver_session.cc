#include "driver/discovery/driver_session.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <time.h>

#include <thread>

namespace diogenes {

Hold the_hold;

void Hold::begin(Nanoseconds limit) {
  *word_.load(std::memory_order_acquire) = 0;
  deadline_.store((monotonic_now() + limit).count, std::memory_order_release);
}

void Hold::release() {
  volatile uint32_t* word = word_.load(std::memory_order_acquire);
  if (word != nullptr) *word = 1;
  deadline_.store(0, std::memory_order_relaxed);
}

void Hold::check() {
  const int64_t deadline = deadline_.load(std::memory_order_acquire);
  if (deadline != 0 && monotonic_now().count >= deadline) release();
}

std::string DriverSession::name_of(CUresult result) const {
  const char* name = nullptr;
  if (api_.cuGetErrorName == nullptr || api_.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr)
    name = result == CUDA_ERROR_STUB_LIBRARY ? "CUDA_ERROR_STUB_LIBRARY, this file is for linking only"
                                             : "CUDA error";
  return std::string(name) + " (" + std::to_string(static_cast<int>(result)) + ")";
}

Error DriverSession::failed(const char* what, CUresult result, const char* advice) const {
  return error("%s failed: %s; %s", what, name_of(result).c_str(), advice);
}

Result<std::unique_ptr<DriverSession>> DriverSession::start(const std::filesystem::path& libcuda,
                                                            const char* ptx) {
  void* library = dlopen(libcuda.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return error("the driver cannot be loaded: %s", dlerror());
  std::unique_ptr<DriverSession> session(new DriverSession);
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
    return error("%s is not mapped: %s", libcuda.c_str(), dlerror());
  session->load_address_ = map->l_addr;
  session->path_ = map->l_name;
  session->ptx_ = ptx;
#define FIND(name) session->api_.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name));
  DISCOVERY_FUNCTIONS(FIND)
#undef FIND
  // Without these nothing can be tried; a row whose own function is missing is only left out.
  const DriverApi& api = session->api_;
  if (!api.cuInit || !api.cuDeviceGet || !api.cuCtxCreate_v2 || !api.cuModuleLoadData ||
      !api.cuModuleGetFunction || !api.cuLaunchKernel || !api.cuMemHostAlloc ||
      !api.cuMemHostGetDevicePointer_v2 || !api.cuCtxSynchronize || !api.cuCtxSetCurrent)
    return error("%s lacks functions that every driver since CUDA 4 has; is it a libcuda?", libcuda.c_str());
  if (auto ready = session->prepare(); !ready) return ready.error();
  return session;
}

Status DriverSession::prepare() {
  CUresult result = api_.cuInit(0);
  if (result != CUDA_SUCCESS)
    return failed("cuInit", result,
                  "is there a GPU, and may this process use it? 'diogenes doctor' says more");
  if (api_.cuDriverGetVersion != nullptr) api_.cuDriverGetVersion(&version_);
  CUdevice device = 0;
  if ((result = api_.cuDeviceGet(&device, 0)) != CUDA_SUCCESS)
    return failed("cuDeviceGet", result, "does CUDA_VISIBLE_DEVICES hide every GPU?");
  char name[256] = {};
  if (api_.cuDeviceGetName != nullptr && api_.cuDeviceGetName(name, sizeof name - 1, device) == CUDA_SUCCESS)
    device_name_ = name;
  if ((result = api_.cuCtxCreate_v2(&context_, CU_CTX_MAP_HOST, device)) != CUDA_SUCCESS)
    return failed("cuCtxCreate", result, "is the GPU in exclusive use by another process, or out of memory?");
  void* word = nullptr;
  if ((result = api_.cuMemHostAlloc(&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP)) != CUDA_SUCCESS)
    return failed("cuMemHostAlloc", result, "may this process lock memory?");
  if ((result = api_.cuMemHostGetDevicePointer_v2(&flag_, word, 0)) != CUDA_SUCCESS)
    return failed("cuMemHostGetDevicePointer", result, "the GPU cannot map host memory");
  *static_cast<volatile uint32_t*>(word) = 1;
  the_hold.use(static_cast<volatile uint32_t*>(word));
  CUmodule module = nullptr;
  if ((result = api_.cuModuleLoadData(&module, ptx_)) != CUDA_SUCCESS)
    return failed("cuModuleLoadData", result,
                  "the driver's PTX compiler (libnvidia-ptxjitcompiler) is needed");
  if ((result = api_.cuModuleGetFunction(&spin_, module, "spin_until")) != CUDA_SUCCESS ||
      (result = api_.cuModuleGetFunction(&busy_, module, "busy_for")) != CUDA_SUCCESS)
    return failed("cuModuleGetFunction", result, "report this as a fault of this tool");

  std::thread([] {
    for (;;) {
      const timespec pause{0, 5'000'000};
      nanosleep(&pause, nullptr);
      the_hold.check();
    }
  }).detach();

  // Once each while nothing is held: with lazy loading the first launch of a kernel waits.
  if ((result = launch_spin(nullptr)) != CUDA_SUCCESS || (result = launch_empty(nullptr)) != CUDA_SUCCESS ||
      (result = api_.cuCtxSynchronize()) != CUDA_SUCCESS)
    return failed("a first kernel", result, "does a small CUDA program run on this machine?");
  return Done{};
}

CUresult DriverSession::launch_spin(CUstream stream) {
  void* parameters[] = {&flag_};
  return api_.cuLaunchKernel(spin_, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
}

CUresult DriverSession::launch_empty(CUstream stream) {
  uint64_t nothing = 0;
  void* parameters[] = {&nothing};
  return api_.cuLaunchKernel(busy_, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
}

}  // namespace diogenes
