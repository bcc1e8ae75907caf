// Start, errors, and how functions are found.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include "api.h"
#include "device/gpu_times_table.h"
#include "graphs/capture.h"
#include "include/simulated_driver.h"
#include "state.h"
#include "wait.h"

namespace diogenes::sim {
namespace {

constexpr int kVersion = 13000;

struct ErrorText {
  CUresult error;
  const char *name, *text;
};
#define ERROR_TEXT(error, text) \
  { error, #error, text }
constexpr ErrorText kErrors[] = {
    ERROR_TEXT(CUDA_SUCCESS, "no error"),
    ERROR_TEXT(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    ERROR_TEXT(CUDA_ERROR_OUT_OF_MEMORY,
               "out of memory (the simulated driver has DIOGENES_SIMULATED_MEMORY_MIB MiB)"),
    ERROR_TEXT(CUDA_ERROR_NOT_INITIALIZED,
               "initialization error: call cuInit first; a forked child cannot use its parent's driver"),
    ERROR_TEXT(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    ERROR_TEXT(CUDA_ERROR_STUB_LIBRARY, "a stub library was loaded instead of the driver"),
    ERROR_TEXT(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    ERROR_TEXT(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    ERROR_TEXT(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    ERROR_TEXT(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    ERROR_TEXT(CUDA_ERROR_MAP_FAILED, "mapping of buffer object failed"),
    ERROR_TEXT(CUDA_ERROR_UNMAP_FAILED, "unmapping of buffer object failed"),
    ERROR_TEXT(CUDA_ERROR_NO_BINARY_FOR_GPU,
               "no kernel image is available: the simulated driver takes PTX text only, no binaries"),
    ERROR_TEXT(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
    ERROR_TEXT(CUDA_ERROR_CONTEXT_ALREADY_IN_USE,
               "exclusive-thread device already in use by a different thread"),
    ERROR_TEXT(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices"),
    ERROR_TEXT(CUDA_ERROR_INVALID_PTX, "a PTX compilation failed"),
    ERROR_TEXT(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
    ERROR_TEXT(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    ERROR_TEXT(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, "shared object initialization failed"),
    ERROR_TEXT(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
    ERROR_TEXT(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    ERROR_TEXT(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    ERROR_TEXT(CUDA_ERROR_NOT_FOUND,
               "named symbol not found (the simulated driver runs the kernels of share/kernels.ptx only)"),
    ERROR_TEXT(CUDA_ERROR_NOT_READY, "device not ready"),
    ERROR_TEXT(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    ERROR_TEXT(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    ERROR_TEXT(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    ERROR_TEXT(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
    ERROR_TEXT(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    ERROR_TEXT(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process"),
    ERROR_TEXT(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    ERROR_TEXT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
               "part or all of the requested memory range is already mapped"),
    ERROR_TEXT(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
               "pointer does not correspond to a registered memory region"),
    ERROR_TEXT(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    ERROR_TEXT(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    ERROR_TEXT(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    ERROR_TEXT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    ERROR_TEXT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
               "operation failed due to a previous error during capture"),
    ERROR_TEXT(CUDA_ERROR_STREAM_CAPTURE_MERGE,
               "operation would result in a merge of separate capture sequences"),
    ERROR_TEXT(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began"),
    ERROR_TEXT(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
    ERROR_TEXT(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
               "dependency created on uncaptured work in another stream"),
    ERROR_TEXT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
               "operation would make the legacy stream depend on a capturing blocking stream"),
    ERROR_TEXT(CUDA_ERROR_CAPTURED_EVENT,
               "operation not permitted on an event last recorded in a capturing stream"),
    ERROR_TEXT(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
               "attempt to terminate a thread-local capture sequence from another thread"),
    ERROR_TEXT(CUDA_ERROR_UNKNOWN, "unknown error"),
};

const ErrorText* find_error(CUresult error) {
  for (const ErrorText& entry : kErrors)
    if (entry.error == error) return &entry;
  return nullptr;
}

// The variants of a name that came after the plain one, with the CUDA version that brought them; any other
// newer variant has been there since before version 12.
struct NewerVariant {
  std::string_view symbol;
  int version;
};
constexpr NewerVariant kNewerVariants[] = {
    {"cuCtxCreate_v4", 12050},
    {"cuMemAdvise_v2", 12020},
    {"cuMemPrefetchAsync_v2", 12020},
    {"cuEventElapsedTime_v2", 12080},
    {"cuCtxSynchronize_v2", 13000},
    {"cuGetProcAddress_v2", 12000},
    {"cuStreamGetCaptureInfo_v3", 12030},
};

bool is_in(const char* symbol, int version) {
  for (const NewerVariant& newer : kNewerVariants)
    if (newer.symbol == symbol) return version >= newer.version;
  return true;
}

void* self() {
  static void* handle = [] {
    Dl_info info;
    return dladdr(reinterpret_cast<void*>(&now_ns), &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                                                           : nullptr;
  }();
  return handle;
}

// The export that a program compiled for `version` would have been linked to. Only the address that dlsym
// gives too.
void* find_entry(const char* name, int version, cuuint64_t flags, bool* too_old) {
  *too_old = false;
  if (strncmp(name, "cu", 2) != 0 || strlen(name) > 80) return nullptr;
  for (const char* variant : {"_v4", "_v3", "_v2", ""}) {
    const std::string base = std::string(name) + variant;
    void* found = nullptr;
    if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
      for (const char* suffix : {"_ptsz", "_ptds"})
        if (!found) found = dlsym(self(), (base + suffix).c_str());
    if (!found) found = dlsym(self(), base.c_str());
    if (!found) continue;
    if (is_in(base.c_str(), version)) return found;
    *too_old = true;
  }
  return nullptr;
}

CUresult get_proc_address(const char* symbol, void** function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
  if (!symbol || !function || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
    return CUDA_ERROR_INVALID_VALUE;
  bool too_old = false;
  *function = find_entry(symbol, version, flags, &too_old);
  if (status)
    *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS
              : too_old ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                        : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult private_synchronize() {
  DRIVER_CALL(a_context);
  call.costs(kSynchronizeCost);
  std::vector<OpPtr> ops;
  {
    const Held held = hold_device();
    ops = outstanding(*call.context);
  }
  return wait_for(call, ops);
}

// What no operation is told for is not recorded in any case. Whether CUPTI may be switched during a capture is not known: here
// that breaks the capture.
bool switch_gpu_times(bool on) {
  const Held held = hold_device();
  if (thread_state().contexts.empty()) return on;
  for (const auto& [handle, stream] : thread_state().contexts.back()->streams)
    if (stream->capture) stream->capture->invalidated = true;
  return on;
}

const GpuTimesSource kGpuTimesSource = {
    sizeof(GpuTimesSource),
    start_gpu_times,
    note_operation,
    [] { note_operation(0); },
    take_gpu_times,
    [] {  // what has ended by the clock, and was looked at by nobody yet
      const Held held = hold_device();
      device().advance(now_ns());
    },
    switch_gpu_times,
    [] {
      const Held held = hold_device();
      device().advance(now_ns());
    },
};

const DiogenesSimulatedTable kTable = {
    sizeof kTable,
    private_synchronize,
    [] { return waits_entered.load(std::memory_order_relaxed); },
    [] { return queue_waits_entered.load(std::memory_order_relaxed); },
    reinterpret_cast<const void*>(&wait_for_device),
    reinterpret_cast<const void*>(&wait_for_queue),
    &kGpuTimesSource,
};

// A library that asked to be loaded into every CUDA process, as the real driver does it.
void load_injected_library() {
  const char* path = getenv("CUDA_INJECTION64_PATH");
  if (!path || !*path) return;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  if (void* entry = dlsym(library, "InitializeInjection")) reinterpret_cast<int (*)()>(entry)();
}

}  // namespace
}  // namespace diogenes::sim

using namespace diogenes::sim;

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const uint32_t phase = __atomic_load_n(&driver_phase, __ATOMIC_ACQUIRE);
  if (phase == kReady) return CUDA_SUCCESS;
  if (phase == kForked) return CUDA_ERROR_NOT_INITIALIZED;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, [] {
    // The threads and the locks of a parent do not come along: a child of a process that has used the driver
    // cannot.
    pthread_atfork(nullptr, nullptr, [] { __atomic_store_n(&driver_phase, kForked, __ATOMIC_RELEASE); });
    start_late_mode();
    __atomic_store_n(&driver_phase, kReady, __ATOMIC_RELEASE);
    load_injected_library();
  });
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = kVersion;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** text) {
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* found = find_error(error);
  *text = found ? found->name : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* found = find_error(error);
  *text = found ? found->text : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  return get_proc_address(symbol, function, version, flags, nullptr);
}
CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  return get_proc_address(symbol, function, version, flags, status);
}

CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  if (!table || !id) return CUDA_ERROR_INVALID_VALUE;
  static constexpr CUuuid known = DIOGENES_SIMULATED_TABLE_ID;
  *table = memcmp(id, &known, sizeof known) == 0 ? &kTable : nullptr;
  return *table ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuProfilerStart() {
  DRIVER_CALL(a_context);
  return CUDA_SUCCESS;
}
CUresult cuProfilerStop() {
  DRIVER_CALL(a_context);
  return CUDA_SUCCESS;
}
