// The plug-in that makes a GpuTimesSource of CUPTI's activity records: libdiogenes-gpu-times.so, preloaded
// beside the agent where GPU times are taken: in stage 3, or in a run of their own. It opens the libcupti
// that the launcher found (DIOGENES_CUPTI), or the one of that name that the program has already; it is never
// linked against it.
//
// CUPTI calls back at each entry of a driver function, on the thread that calls: there the call's correlation
// id gets the operation that the agent told (correlations.h). Records of kernels, copies and fills come on
// CUPTI's own thread when a buffer is full, at the latest at the program's end; their times go back to the
// program's threads (times_channel.h), which alone write the trace. No lock is taken on a program's thread,
// nothing is allocated there but by start().
#include <dlfcn.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver/gpu_samples_plug_in.h"
#include "driver/gpu_times_source.h"
#include "driver/kernel_launches.h"
#include "gpu_times/correlations.h"
#include "gpu_times/cupti_abi.h"
#include "gpu_times/times_channel.h"

namespace diogenes {
namespace {

using namespace cupti;

constexpr size_t kBufferBytes = 256 << 10;  // about a thousand kernels: what a kill loses
constexpr Kind kKinds[] = {kConcurrentKernel, kMemcpy, kMemset};

Functions functions;
Subscriber subscriber = nullptr;
Correlations correlations;
TimesChannel channel;
LaunchFile launches;  // by whoever delivers: these take turns
const GpuSamplesPlugIn* samples = nullptr;
std::atomic<uint64_t> calls{0};  // that gave work; of two at the same time one may be missing
// CUPTI may be gone when the program's last destructors have run: flushed once, before them where there is an
// orderly way out.
std::atomic<bool> flushed{true};
thread_local uint64_t current_operation __attribute__((tls_model("initial-exec"))) = 0;

uint64_t monotonic_clock() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void on_call(void*, uint32_t domain, uint32_t event, const void* data) {
  if (domain != kDomainDriver) return samples ? samples->resource(event, data) : void();
  const auto* call = static_cast<const CallbackData*>(data);
  if (samples) samples->call(call->site == kSiteEnter);
  if (call->site != kSiteEnter || current_operation == 0) return;
  correlations.set(call->correlation, current_operation);
  calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void buffer_requested(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  void* memory = mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *buffer = memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
  *bytes = memory == MAP_FAILED ? 0 : kBufferBytes;
  *most_records = 0;
}

GpuWork direction_of(uint8_t copy_kind) {
  if (copy_kind == kHostToDevice || copy_kind == kHostToArray) return GpuWork::to_device;
  if (copy_kind == kDeviceToHost || copy_kind == kArrayToHost) return GpuWork::to_host;
  return GpuWork::on_device;
}

uint32_t launch_of(const Kernel& kernel) {
  LaunchShape shape{};
  for (int i = 0; i < 3; ++i) {
    shape.grid[i] = static_cast<uint32_t>(kernel.grid[i]);
    shape.block[i] = static_cast<uint32_t>(kernel.block[i]);
  }
  shape.registers = kernel.registers_per_thread;
  shape.static_shared = static_cast<uint32_t>(kernel.static_shared_memory);
  shape.dynamic_shared = static_cast<uint32_t>(kernel.dynamic_shared_memory);
  return launches.number_of(kernel.name, shape);
}

template <typename Record>
void give(TimesChannel::Giver& giver, const Record& record, GpuWork work, const Kernel* kernel = nullptr) {
  // A record that was delivered before its work ended has no times.
  if (record.start == 0 || record.end < record.start) return;
  const uint64_t operation = correlations.operation(record.correlation);
  if (operation == 0) return;
  const auto begin = static_cast<int64_t>(record.start), end = static_cast<int64_t>(record.end);
  giver.add({operation, begin, end, record.stream, kernel ? launch_of(*kernel) : 0, work, {}});
}

void buffer_completed(void*, uint32_t, uint8_t* buffer, size_t bytes, size_t valid) {
  if (!buffer) return;
  {
    TimesChannel::Giver giver(channel);
    Activity* record = nullptr;
    while (functions.next_record(buffer, valid, &record) == kSuccess) {
      if (record->kind == kConcurrentKernel) {
        const auto& kernel = *reinterpret_cast<const Kernel*>(record);
        give(giver, kernel, GpuWork::kernel, &kernel);
      } else if (record->kind == kMemcpy) {
        const auto& copy = *reinterpret_cast<const Memcpy*>(record);
        give(giver, copy, direction_of(copy.copy_kind));
      } else if (record->kind == kMemset) {
        give(giver, *reinterpret_cast<const Memset*>(record), GpuWork::fill);
      }
    }
  }
  munmap(buffer, bytes);
}

pid_t own_process = 0;
std::atomic<bool> switching{false};

// Between, copies and fills cost little more for CUPTI's sake, launches as much as before. Each switch takes some 0.1 ms
// (docs/driver-facts.md). While it samples, CUPTI begins no records again: until that is over, none are left out.
bool record(bool on) {
  if (samples && !samples->over(calls.load(std::memory_order_relaxed))) return true;
  switching.store(true);
  bool known = !flushed.load() && (!on || functions.enable_domain(1, subscriber, kDomainDriver) == kSuccess);
  if (known) {
    for (Kind kind : kKinds) known &= (on ? functions.enable : functions.disable)(kind) == kSuccess;
    if (!on || !known) functions.enable_domain(0, subscriber, kDomainDriver);
  }
  switching.store(false);
  return on && known;
}

void deliver() {
  switching.store(true);
  if (!flushed.load()) functions.flush_all(0);
  switching.store(false);
}

// A child of a fork has its parent's records, and what was arranged for the parent's end. Nothing is switched once it was
// flushed: CUPTI is gone before the last destructors of a program have run, and those of PyTorch call CUDA. Both flags are
// sequentially consistent: either the switch sees that it was flushed, or it is waited for here, 10 ms at most.
void flush() {
  if (getpid() != own_process || flushed.exchange(true)) return;
  for (int i = 0; i < 100 && switching.load(); ++i) usleep(100);
  functions.flush_all(kFlushForced);
  if (samples) samples->finish();
}

void* open_library() {
  const char* path = getenv("DIOGENES_CUPTI");
  if (!path || !*path) return nullptr;
  const char* slash = strrchr(path, '/');
  if (void* own = dlopen(slash ? slash + 1 : path, RTLD_NOW | RTLD_NOLOAD)) return own;
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

bool find_functions(void* library) {
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  return find(functions.subscribe, "cuptiSubscribe") && find(functions.unsubscribe, "cuptiUnsubscribe") &&
         find(functions.enable_domain, "cuptiEnableDomain") &&
         find(functions.register_callbacks, "cuptiActivityRegisterCallbacks") &&
         find(functions.register_timestamp, "cuptiActivityRegisterTimestampCallback") &&
         find(functions.enable, "cuptiActivityEnable") && find(functions.disable, "cuptiActivityDisable") &&
         find(functions.next_record, "cuptiActivityGetNextRecord") &&
         find(functions.flush_all, "cuptiActivityFlushAll");
}

// It shares the subscriber, and its failures are no failures of ours.
void start_samples(void* library, const char* folder) {
  const char* path = getenv(kGpuSamplesVariable);
  void* plug_in = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (plug_in) samples = static_cast<const GpuSamplesPlugIn*>(dlsym(plug_in, kGpuSamplesSymbol));
  if (samples) samples->start(library, subscriber, folder);
}

// Asked only where the subscription failed before; should it succeed now, it is given back.
const char* held_by_another(void* library) {
  static char text[128];
  char holder[kHolderBytes] = {};
  SubscriberParameters parameters{sizeof parameters, "Diogenes", holder, sizeof holder};
  functions.subscribe_v2 =
      reinterpret_cast<decltype(functions.subscribe_v2)>(dlsym(library, "cuptiSubscribe_v2"));
  if (functions.subscribe_v2 &&
      functions.subscribe_v2(&subscriber, on_call, nullptr, &parameters) == kSuccess) {
    functions.unsubscribe(subscriber);
    subscriber = nullptr;
  }
  holder[sizeof holder - 1] = 0;
  snprintf(text, sizeof text, "%.40s holds the profiling interface (CUPTI), which serves one tool at a time",
           *holder ? holder : "another tool");
  return text;
}

const char* start(const char* folder) {
  if (subscriber) return "it was started before";
  void* library = open_library();
  if (!library) return "libcupti cannot be opened";
  if (!find_functions(library)) return "this libcupti is too old";
  if (!correlations.open() || !launches.open(folder)) return "there is not enough memory for it";
  const Result result = functions.subscribe(&subscriber, on_call, nullptr);
  if (result == kErrorMultipleSubscribers) return held_by_another(library);
  if (result != kSuccess) return "libcupti does not work with this driver, or may not be used here";
  flushed.store(false, std::memory_order_relaxed);
  if (functions.register_timestamp(monotonic_clock) != kSuccess ||
      functions.register_callbacks(buffer_requested, buffer_completed) != kSuccess || !record(true)) {
    record(false);
    functions.unsubscribe(subscriber);
    subscriber = nullptr;
    return "libcupti does not record kernels and copies here";
  }
  own_process = getpid();
  start_samples(library, folder);
  // Runs before the driver's own way out, which was arranged earlier.
  atexit(flush);
  return nullptr;
}

}  // namespace

// The agent looks for it by name (gpu_times_source.h).
extern "C" __attribute__((visibility("default"))) const GpuTimesSource diogenes_gpu_times_source = {
    sizeof(GpuTimesSource),
    start,
    [](uint64_t operation) { current_operation = operation; },
    [] { current_operation = 0; },
    [](GpuTime* times, size_t most) { return channel.take(times, most); },
    flush,
    record,
    deliver,
};

}  // namespace diogenes
