#include "launcher/sampling/gpu_clock_reader.h"

#include <dlfcn.h>

#include <chrono>
#include <fstream>
#include <vector>

#include "base/units.h"
#include "launcher/process/signals_blocked.h"
#include "trace/gpu_clocks.h"

namespace diogenes::launcher {
namespace {

constexpr auto kBetweenReadings = std::chrono::milliseconds(100);
constexpr const char* kLibrary = "libnvidia-ml.so.1";

using Device = struct nvmlDevice_st*;
constexpr int kWorked = 0, kMultiprocessorClock = 1;  // NVML_SUCCESS, NVML_CLOCK_SM

// nvmlPciInfo_t
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

struct Functions {
  int (*initialize)();
  int (*shut_down)();
  int (*count)(unsigned* devices);
  int (*by_number)(unsigned number, Device* device);
  int (*place)(Device device, PciInfo* info);
  int (*clock)(Device device, int which, unsigned* mhz);
};

bool find_functions(const std::filesystem::path& folder, Functions& functions) {
  void* library = folder.empty() ? nullptr : dlopen((folder / kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  return find(functions.initialize, "nvmlInit_v2") && find(functions.shut_down, "nvmlShutdown") &&
         find(functions.count, "nvmlDeviceGetCount_v2") &&
         find(functions.by_number, "nvmlDeviceGetHandleByIndex_v2") &&
         find(functions.place, "nvmlDeviceGetPciInfo_v3") && find(functions.clock, "nvmlDeviceGetClockInfo");
}

struct Gpu {
  Device device;
  PciPlace place;
};

std::vector<Gpu> find_gpus(const Functions& functions) {
  std::vector<Gpu> gpus;
  unsigned count = 0;
  if (functions.count(&count) != kWorked) return gpus;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    PciInfo info{};
    if (functions.by_number(i, &device) == kWorked && functions.place(device, &info) == kWorked)
      gpus.push_back({device, {info.domain, info.bus, info.device}});
  }
  return gpus;
}

}  // namespace

void GpuClockReader::start() {
  const SignalsBlocked blocked;
  reader_ = std::thread([this] { read(); });
}

void GpuClockReader::stop() {
  if (!reader_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ends_.notify_one();
  reader_.join();
}

void GpuClockReader::read() {
  Functions functions{};
  if (!find_functions(library_folder_, functions) || functions.initialize() != kWorked) return;
  const std::vector<Gpu> gpus = find_gpus(functions);
  std::ofstream file(file_);
  std::unique_lock lock(mutex_);
  do {
    for (const Gpu& gpu : gpus) {
      unsigned mhz = 0;
      if (functions.clock(gpu.device, kMultiprocessorClock, &mhz) == kWorked)
        file << line_of({monotonic_now().count, gpu.place, mhz});
    }
    file.flush();
  } while (!ends_.wait_for(lock, kBetweenReadings, [this] { return over_; }));
  functions.shut_down();
}

}  // namespace diogenes::launcher
