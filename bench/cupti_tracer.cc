// The tracer that bench-overhead compares with: libdiogenes-bench-cupti.so, preloaded, keeps CUPTI's activity
// records of the driver's functions, kernels and copies, and throws them away: what a profiler without stacks
// pays at least. DIOGENES_CUPTI names libcupti. It says on stderr how many records came, so that nobody
// compares with none.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "gpu_times/cupti_abi.h"

namespace {

using namespace diogenes::cupti;

constexpr auto kDriver = static_cast<Kind>(4);  // CUPTI_ACTIVITY_KIND_DRIVER
constexpr size_t kBufferBytes = 1 << 20;

Functions functions;
std::atomic<long> records{0};

void requested(uint8_t** buffer, size_t* bytes, size_t* most) {
  *buffer = static_cast<uint8_t*>(aligned_alloc(8, kBufferBytes));
  *bytes = kBufferBytes;
  *most = 0;
}

void completed(void*, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  Activity* record = nullptr;
  while (functions.next_record(buffer, valid, &record) == kSuccess)
    records.fetch_add(1, std::memory_order_relaxed);
  free(buffer);
}

void finish() {
  functions.flush_all(kFlushForced);
  fprintf(stderr, "CUPTI: %ld records\n", records.load());
}

__attribute__((constructor)) void start() {
  const char* path = getenv("DIOGENES_CUPTI");
  void* library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  const auto find = [library](auto& function, const char* name) {
    function = library ? reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name)) : nullptr;
    return function != nullptr;
  };
  if (!find(functions.register_callbacks, "cuptiActivityRegisterCallbacks") ||
      !find(functions.enable, "cuptiActivityEnable") ||
      !find(functions.next_record, "cuptiActivityGetNextRecord") ||
      !find(functions.flush_all, "cuptiActivityFlushAll")) {
    fprintf(stderr, "CUPTI: DIOGENES_CUPTI does not name a libcupti that can be opened\n");
    return;
  }
  functions.register_callbacks(requested, completed);
  for (const Kind kind : {kDriver, kConcurrentKernel, kMemcpy, kMemset})
    if (functions.enable(kind) != kSuccess)
      fprintf(stderr, "CUPTI: records of kind %u are not to be had\n", kind);
  atexit(finish);
}

}  // namespace
