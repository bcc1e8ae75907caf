#include "agent/hooks/driver_image.h"

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/core/calls/driver_calls.h"
#include "agent/core/pass_through.h"
#include "agent/core/recording/module_map.h"
#include "agent/core/recording/process_folder.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/hooks/driver_locks.h"
#include "agent/hooks/windows.h"
#include "agent/hooks/x86_64/patcher.h"
#include "agent/watching/guard/guards.h"

namespace diogenes::agent {

namespace {

std::atomic<bool> found{false};
LoadedImage driver;

bool is_driver(const char* path) {
  const char* slash = strrchr(path, '/');
  return strncmp(slash ? slash + 1 : path, "libcuda.so", 10) == 0;
}

void visit(const LoadedImage& image, void* result) {
  auto* candidate = static_cast<LoadedImage*>(result);
  // A stub library of a toolkit has the name but is no driver; the real one has a build-id and this function.
  if (candidate->headers == nullptr && is_driver(image.path) && image.symbol("cuInit")) *candidate = image;
}

void describe(ProcessFile& process, const BuildId& id) {
  if (!realpath(driver.path, process.driver_path))
    snprintf(process.driver_path, sizeof process.driver_path, "%s", driver.path);
  memcpy(process.driver_build_id, id.bytes.data(), sizeof process.driver_build_id);
  process.driver_build_id_length = id.length;
  process.driver_base = driver.bias;
}

bool planned_for(const BuildId& id) {
  const Plan& wanted = *plan().plan;
  return id.length == wanted.build_id_length && memcmp(id.bytes.data(), wanted.build_id, id.length) == 0;
}

}  // namespace

void hook_driver_if_mapped() {
  if (found.load(std::memory_order_relaxed)) return;
  LoadedImage candidate;
  for_each_image(visit, &candidate);
  if (!candidate.headers || found.exchange(true, std::memory_order_relaxed)) return;
  driver = candidate;
  if (!open_process_folder()) return;
  ProcessFile& process = *process_file();
  BuildId id = driver.build_id();
  describe(process, id);
  // Another driver than the one that the plan is for: nothing is touched, the process file tells.
  if (!planned_for(id)) return;
  find_driver_calls(driver);
  set_driver_range(driver.code());
  void* calls = control_page ? map_file_part(kCallsFile, 0, kMostCounted * sizeof(CallCount)) : nullptr;
  install_hooks(plan().hooks, plan().plan->hook_count, driver.bias, driver.code(), is_followed_always,
                static_cast<CallCount*>(calls), process.hook_state);
}

void leave_driver_its_locks() {
  static std::atomic<bool> done{false};
  if (!driver.headers || done.exchange(true, std::memory_order_relaxed)) return;
  if (planned_for(driver.build_id())) bind_locks_of(driver);
}

void describe_device_once() {
  static std::atomic<bool> done{false};
  static std::atomic<bool> described_driver{false};
  if (done.load(std::memory_order_relaxed)) return;
  ProcessFile* process = process_file();
  if (!process) return;
  PassThrough pass;
  DriverCalls& calls = driver_calls;
  if (calls.driver_get_version && !described_driver.exchange(true, std::memory_order_relaxed))
    calls.driver_get_version(&process->driver_version);
  CUdevice device = 0;
  if (!calls.ctx_get_device || calls.ctx_get_device(&device) != CUDA_SUCCESS) return;
  if (done.exchange(true, std::memory_order_relaxed)) return;
  if (calls.device_get_name) calls.device_get_name(process->device_name, sizeof process->device_name, device);
  CUuuid uuid{};
  if (calls.device_get_uuid && calls.device_get_uuid(&uuid, device) == CUDA_SUCCESS)
    memcpy(process->device_uuid, &uuid, sizeof process->device_uuid);
  if (calls.device_get_attribute) {
    calls.device_get_attribute(&process->capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                               device);
    calls.device_get_attribute(&process->capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                               device);
    calls.device_get_attribute(&process->multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  }
}

}  // namespace diogenes::agent
