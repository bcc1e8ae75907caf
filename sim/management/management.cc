// The simulated driver's management library: one GPU, whose clock has 1 GHz. Source: nvml.h of CUDA 13.0.
#include <cstring>

namespace {
constexpr int kSuccess = 0, kInvalidArgument = 2, kMultiprocessorClock = 1;
int device;
}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int nvmlInit_v2() { return kSuccess; }
EXPORTED int nvmlShutdown() { return kSuccess; }
EXPORTED int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return kSuccess;
}
EXPORTED int nvmlDeviceGetHandleByIndex_v2(unsigned number, void** handle) {
  *handle = &device;
  return number == 0 ? kSuccess : kInvalidArgument;
}
EXPORTED int nvmlDeviceGetPciInfo_v3(void* handle, void* info) {
  constexpr unsigned kPlace[] = {0, 1, 0};  // domain, bus, device: as the driver's attributes say
  memset(info, 0, 68);
  memcpy(static_cast<char*>(info) + 16, kPlace, sizeof kPlace);
  return handle == &device ? kSuccess : kInvalidArgument;
}
EXPORTED int nvmlDeviceGetClockInfo(void* handle, int which, unsigned* mhz) {
  *mhz = 1000;
  return handle == &device && which == kMultiprocessorClock ? kSuccess : kInvalidArgument;
}
