// Stands in for libcuda.so.1, as far as the plug-in of samples calls it: which context is current on a thread, and how new a GPU is.
#include <map>
#include <vector>

namespace {
thread_local std::vector<void*> contexts;
}

extern "C" {
int fake_compute_capability = 9;
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  const std::map<int, int> known{{75, fake_compute_capability}, {16, 132}, {50, 3}, {33, 0x1b}, {34, 2}};
  const auto found = known.find(attribute);
  if (device != 1 || found == known.end()) return 1;
  *value = found->second;
  return 0;
}
int cuCtxPushCurrent_v2(void* context) {
  contexts.push_back(context);
  return 0;
}
int cuCtxPopCurrent_v2(void** context) {
  if (contexts.empty()) return 201;  // CUDA_ERROR_INVALID_CONTEXT
  *context = contexts.back();
  contexts.pop_back();
  return 0;
}
void* fake_current_context() { return contexts.empty() ? nullptr : contexts.back(); }
}
