// Samples of the GPU's instruction pointers by CUPTI's PC Sampling: libdiogenes-gpu-samples.so, which the plug-in of GPU times
// opens where samples are taken (driver/gpu_samples_plug_in.h). It fills a file that outlives the process
// (driver/gpu_samples_file.h).
//
// A context is sampled from its creation (CUPTI's callback on the program's thread) to its end, or to the program's. CONTINUOUS
// mode changes nothing of how kernels run, and does not say which launch a sample is of. The hardware's buffer holds some seconds:
// a thread for each context drains it. CUPTI wants the context current there, and one thread that makes one context current, once,
// makes one call of the driver that the agent records. At a context's end the program's thread drains and disables. Where the
// program makes too many calls, one of its threads does so meanwhile, and nothing is sampled from then on.
//
// Modules have our own numbers, which CUPTI asks for when it sees one: they tell apart two GPUs that load the same code, and code
// that is loaded again. No lock is held while CUPTI is called: it holds its own while it calls back. What waits for another
// thread gives up after some time: then the context stays as it is, and samples are lost.
//
// Source: cupti_pcsampling.h, and what was seen on an H200 (docs/driver-facts.md).
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "driver/gpu_samples_file.h"
#include "driver/gpu_samples_plug_in.h"
#include "driver/kept_code.h"
#include "gpu_times/driver_gate.h"
#include "gpu_times/pc_sampling_abi.h"
#include "gpu_times/waiting.h"

namespace diogenes {
namespace {

using namespace cupti;
using CuptiResult = cupti::Result;

constexpr int kMostContexts = 64;  // at a time
constexpr size_t kRecords = 8192;  // in a buffer; CUPTI keeps some 5,500 itself
constexpr int kMostTurns = 100;    // of one drain
constexpr int64_t kDrainEvery = kSecond, kLongestWait = 2 * kSecond, kLongestAtExit = kSecond;
// 2^n cycles between two samples of a multiprocessor. CUPTI's own 2^11 fills the hardware's buffer in less than a second where
// the GPU is busy, and what is left at the end takes a second for 30 million samples.
constexpr uint32_t kPeriod = 14;
// The hardware's buffer, which CUPTI empties every .1 s: 64 MiB were enough for a GPU that is kept busy by short launches, 16 not.
// Its own 512 MiB of pinned memory take .2 s more, in the first load of a module.
constexpr size_t kHardwareBufferBytes = 128 << 20;
// Compute capability. Others report that newer GPUs give no samples with another period or buffer.
constexpr int kLastTried = 9;
// All that gives the GPU work is recorded while it is sampled: so many calls may do so at once, and so many a second. With more,
// records of a part cost less (agent/core/recording/gpu_time_windows.h).
constexpr uint64_t kCallsAtOnce = 50'000, kCallsASecond = 10'000;

SamplingFunctions functions;
int (*push_current)(Context) = nullptr;
int (*pop_current)(Context*) = nullptr;
int (*get_attribute)(int* value, int attribute, int device) = nullptr;

pid_t own_process = 0;
char own_folder[512];
// Both sequentially consistent: either a callback sees that it is finished, or it is waited for.
std::atomic<bool> finished{true};
std::atomic<int> callbacks{0};
std::atomic<bool> ended{false};    // for good, though the program goes on
std::atomic<int64_t> began_ns{0};  // the first context; CLOCK_MONOTONIC

// What all contexts share. Held for a short time, in which nobody but the disk is waited for.
std::atomic_flag table_in_use{};
SamplesFile table;
KeptCode code;

class HeldTable {
 public:
  HeldTable() {
    // acquire and release: the table.
    while (table_in_use.test_and_set(std::memory_order_acquire)) sleep_for(10'000);
  }
  ~HeldTable() { table_in_use.clear(std::memory_order_release); }
  HeldTable(const HeldTable&) = delete;
  HeldTable& operator=(const HeldTable&) = delete;
};

// The first time counts.
bool failed(SamplingStep step, CuptiResult result) {
  const HeldTable held;
  SamplesHeader& header = table.header();
  if (header.failed_step == SamplingStep::none) header.failed_result = result, header.failed_step = step;
  return false;
}

void number_module(const void* cubin, size_t bytes, uint64_t* number) {
  *number = 0;
  if (getpid() != own_process) return;
  const HeldTable held;
  const KeptCode::Kept kept = code.keep({static_cast<const uint8_t*>(cubin), cubin ? bytes : 0});
  *number = table.module(kept.why_none, kept.code);
}

// Memory for a buffer of CUPTI's records.
class Buffer {
 public:
  bool open(size_t reasons) {
    bytes_ = kRecords * (sizeof(PcRecord) + reasons * sizeof(ReasonCount));
    void* memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    data = {};
    data.bytes = sizeof data;
    data.room = kRecords;
    data.records = static_cast<PcRecord*>(memory);
    auto* counts = reinterpret_cast<ReasonCount*>(data.records + kRecords);
    for (size_t i = 0; i < kRecords; ++i) {
      data.records[i].bytes = sizeof(PcRecord);
      data.records[i].reasons = counts + i * reasons;
    }
    return true;
  }
  void close() {
    if (data.records) munmap(data.records, bytes_);
    data.records = nullptr;
  }
  PcData data{};

 private:
  size_t bytes_ = 0;
};

struct Sampled {
  std::atomic<Context> context{nullptr};  // null: free
  std::atomic<bool> runs{false};          // and nobody is about to end it
  std::atomic<bool> only_disable{false};  // is left to do
  std::atomic<uint32_t> stop{0};          // futex
  std::atomic<bool> stopped{true};        // release and acquire: the thread's buffer
  bool has_thread = false, drains = false;
  pthread_t thread{};
  size_t reason_count = 0;
  uint32_t reasons[kMostReasons];  // numbers in the table, by CUPTI's
  Buffer drained, rest;            // the second is CUPTI's until sampling is disabled
};
Sampled sampled[kMostContexts];

ContextParameters of(const Sampled& one) { return {sizeof(ContextParameters), nullptr, one.context.load()}; }
template <typename Parameters>
Parameters of(const Sampled& one, Parameters parameters) {
  static_cast<ContextParameters&>(parameters) = of(one);
  parameters.bytes = sizeof parameters;
  return parameters;
}

void add(const Sampled& one, const PcData& data) {
  const HeldTable held;
  SamplesHeader& header = table.header();
  header.total += data.total;
  header.dropped += data.dropped;
  header.foreign += data.foreign;
  header.full_buffers += data.buffer_full != 0;
  for (const PcRecord& record : std::span(data.records, std::min(data.count, kRecords))) {
    const bool known = record.module - 1 < table.modules();
    const uint32_t function = known && record.function ? table.function(record.function) : 0;
    for (const ReasonCount& count :
         std::span(record.reasons, std::min(record.reason_count, one.reason_count))) {
      const uint32_t reason = count.reason < kMostReasons ? one.reasons[count.reason] : 0;
      if (!known)
        header.foreign += count.samples;
      else if (function == 0 || reason == 0)
        header.left_out += count.samples;
      else if (count.samples > 0)
        table.count({SampledType::sum, static_cast<uint32_t>(record.module), function, reason, record.offset,
                     count.samples});
    }
  }
}

// The context is current on this thread.
void drain(Sampled& one) {
  PcData& data = one.drained.data;
  for (int turn = 0; one.drains && turn < kMostTurns; ++turn) {
    data.count = data.remaining = data.total = data.dropped = data.foreign = 0;
    data.buffer_full = 0;
    auto parameters = of(one, DataParameters{{}, &data});
    const CuptiResult result = functions.get_data(&parameters);
    if (result == kErrorOutOfMemory) data.buffer_full = 1;
    add(one, data);
    one.drains = result == kSuccess || result == kErrorOutOfMemory || failed(SamplingStep::drain, result);
    if (result != kSuccess || data.remaining == 0) return;
  }
}

void* drain_each_second(void* argument) {
  auto& one = *static_cast<Sampled*>(argument);
  const bool current = push_current && push_current(one.context.load()) == 0;
  constexpr timespec kInterval{kDrainEvery / kSecond, kDrainEvery % kSecond};
  while (current && one.drains) {
    syscall(SYS_futex, &one.stop, FUTEX_WAIT_PRIVATE, 0, &kInterval, nullptr, 0);
    if (one.stop.load()) break;
    drain(one);
  }
  one.stopped.store(true, std::memory_order_release);
  return nullptr;
}

// The program's signals are for the program's threads.
void start_thread(Sampled& one) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  one.stopped.store(false);
  one.has_thread = pthread_create(&one.thread, nullptr, drain_each_second, &one) == 0;
  if (!one.has_thread) one.stopped.store(true);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool know_reasons(Sampled& one, uint32_t (&indices)[kMostReasons]) {
  auto counted = of(one, ReasonCountParameters{{}, &one.reason_count});
  CuptiResult result = functions.count_reasons(&counted);
  if (result != kSuccess || one.reason_count == 0 || one.reason_count > kMostReasons)
    return failed(SamplingStep::reasons, result);
  constexpr size_t kBytes = kMostReasons * kReasonNameBytes;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return failed(SamplingStep::reasons, 0);
  char* names[kMostReasons];
  for (size_t i = 0; i < kMostReasons; ++i) names[i] = static_cast<char*>(memory) + i * kReasonNameBytes;
  auto asked = of(one, ReasonsParameters{{}, one.reason_count, indices, names});
  result = functions.get_reasons(&asked);
  memset(one.reasons, 0, sizeof one.reasons);
  if (result == kSuccess) {
    const HeldTable held;
    for (size_t i = 0; i < one.reason_count; ++i) {
      names[i][kReasonNameBytes - 1] = 0;
      if (indices[i] < kMostReasons) one.reasons[indices[i]] = table.reason(names[i]);
    }
  }
  munmap(memory, kBytes);
  return result == kSuccess || failed(SamplingStep::reasons, result);
}

bool takes_own_settings(Context context) {
  constexpr int kMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
  uint32_t device = 0;
  int major = 0;
  return get_attribute && functions.get_device(context, &device) == kSuccess &&
         get_attribute(&major, kMajor, static_cast<int>(device)) == 0 && major <= kLastTried;
}

bool configure(Sampled& one, uint32_t (&indices)[kMostReasons]) {
  if (!one.drained.open(one.reason_count) || !one.rest.open(one.reason_count))
    return failed(SamplingStep::configure, 0);
  Configuration attributes[5]{};
  attributes[0].attribute = kCollectionMode;
  attributes[0].number = kContinuous;
  attributes[1].attribute = kStallReasons;
  attributes[1].list = {one.reason_count, indices};
  attributes[2].attribute = kDataBuffer;
  attributes[2].data = &one.rest.data;
  attributes[3].attribute = kSamplingPeriod;
  attributes[3].number = kPeriod;
  attributes[4].attribute = kHardwareBuffer;
  attributes[4].buffer_bytes = kHardwareBufferBytes;
  const size_t count = takes_own_settings(one.context) ? 5 : 3;
  auto wanted = of(one, ConfigurationParameters{{}, count, attributes});
  CuptiResult result = functions.set_configuration(&wanted);
  for (const Configuration& attribute : attributes)
    if (result == kSuccess) result = attribute.status;
  if (result != kSuccess) return failed(SamplingStep::configure, result);
  Configuration period{};
  period.attribute = kSamplingPeriod;
  auto asked = of(one, ConfigurationParameters{{}, 1, &period});
  if (functions.get_configuration(&asked) == kSuccess && period.number < 64) {
    const HeldTable held;
    table.header().period_cycles = uint64_t{1} << period.number;
  }
  return true;
}

void note_device(const Sampled& one) {
  constexpr int kMultiprocessors = 16, kBus = 33, kDevice = 34, kDomain = 50;  // CU_DEVICE_ATTRIBUTE_
  uint32_t number = 0;
  if (!get_attribute || functions.get_device(one.context, &number) != kSuccess) return;
  const auto ask = [&](int attribute) {
    int value = 0;
    get_attribute(&value, attribute, static_cast<int>(number));
    return static_cast<uint32_t>(value);
  };
  const SampledDevice device{SampledType::device, ask(kMultiprocessors), ask(kDomain),
                             ask(kBus),           ask(kDevice),          {}};
  const HeldTable held;
  table.device(device);
}

// If that fails, CUPTI may still write into its buffer: the place is not used again.
void disable(Sampled& one) {
  auto parameters = of(one);
  if (functions.disable(&parameters) != kSuccess) return;
  if (one.rest.data.records) add(one, one.rest.data);
  one.drained.close();
  one.rest.close();
  one.context.store(nullptr);
}

void begin(Context context) {
  if (ended.load()) return;
  Sampled* free = nullptr;
  for (Sampled& one : sampled)
    if (Context none = nullptr; !free && one.context.compare_exchange_strong(none, context)) free = &one;
  if (!free) {
    failed(SamplingStep::enable, kErrorMaxLimitReached);
    return;
  }
  Sampled& one = *free;
  one.drains = false;
  one.stop.store(0);
  auto parameters = of(one);
  uint32_t indices[kMostReasons];
  const CuptiResult result = functions.enable(&parameters);
  if (result == kSuccess && know_reasons(one, indices) && configure(one, indices)) {
    note_device(one);
    if (int64_t none = 0; began_ns.load() == 0) began_ns.compare_exchange_strong(none, now_ns());
    one.drains = true;
    start_thread(one);
    one.runs.store(true);
    return;
  }
  if (result == kSuccess) return disable(one);
  failed(SamplingStep::enable, result);
  one.context.store(nullptr);
}

// Drained for the last time, but for what disable() brings. False: nobody samples it, another thread ends it, or its own hangs.
bool stop(Sampled& one) {
  if (!one.runs.exchange(false)) return false;
  one.stop.store(1);
  syscall(SYS_futex, &one.stop, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  if (!wait_until([&] { return one.stopped.load(std::memory_order_acquire); }, kLongestWait))
    return failed(SamplingStep::drain, kErrorNotReady);
  if (one.has_thread) pthread_join(one.thread, nullptr);
  Context ignored;
  if (push_current && push_current(one.context.load()) == 0) {
    drain(one);
    pop_current(&ignored);
  }
  return true;
}

void end(Sampled& one) {
  if (stop(one) || one.only_disable.exchange(false)) disable(one);
}

// Waits `longest` ns at most for other threads to leave the driver. False: one is in a call, so that some are left. Threads that
// drain make calls, too: they end first.
bool end_all(int64_t longest) {
  for (Sampled& one : sampled)
    if (stop(one)) one.only_disable.store(true);
  const auto is_left = [](const Sampled& one) { return one.only_disable.load(); };
  if (std::none_of(std::begin(sampled), std::end(sampled), is_left)) return true;
  const driver_gate::Closed gate(longest);
  for (Sampled& one : sampled)
    if (gate.alone() && one.only_disable.exchange(false)) disable(one);
  return gate.alone();
}

void on_resource(unsigned event, const void* data) {
  if (getpid() != own_process) return;
  int cancelling = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
  ++callbacks;
  if (!finished.load()) {
    const Context context = static_cast<const ResourceData*>(data)->context;
    if (event == kContextCreated) begin(context);
    if (event == kContextDestroyStarting)
      for (Sampled& one : sampled)
        if (one.context.load() == context) end(one);
  }
  --callbacks;
  pthread_setcancelstate(cancelling, nullptr);
}

bool find_functions(void* library) {
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  return find(functions.get_version, "cuptiGetVersion") && find(functions.get_device, "cuptiGetDeviceId") &&
         find(functions.enable_callback, "cuptiEnableCallback") &&
         find(functions.register_module_number, "cuptiRegisterComputeCrcCallback") &&
         find(functions.enable, "cuptiPCSamplingEnable") &&
         find(functions.disable, "cuptiPCSamplingDisable") &&
         find(functions.count_reasons, "cuptiPCSamplingGetNumStallReasons") &&
         find(functions.get_reasons, "cuptiPCSamplingGetStallReasons") &&
         find(functions.set_configuration, "cuptiPCSamplingSetConfigurationAttribute") &&
         find(functions.get_configuration, "cuptiPCSamplingGetConfigurationAttribute") &&
         find(functions.get_data, "cuptiPCSamplingGetData");
}

// CUPTI opens it by name. Beside libcupti it need not be on any path: what is open already is found by its name.
bool open_counters_library() {
  constexpr const char* kName = "libnvperf_host.so";
  Dl_info info{};
  char path[600];
  if (dladdr(reinterpret_cast<void*>(functions.get_version), &info) && info.dli_fname) {
    const char* slash = strrchr(info.dli_fname, '/');
    const int folder = slash ? static_cast<int>(slash - info.dli_fname) : 1;
    snprintf(path, sizeof path, "%.*s/%s", std::min(folder, 500), slash ? info.dli_fname : ".", kName);
    if (dlopen(path, RTLD_NOW | RTLD_LOCAL)) return true;
  }
  return dlopen(kName, RTLD_NOW | RTLD_LOCAL) != nullptr;
}

void start(void* library, void* subscriber, const char* folder) {
  if (own_process != 0) return;
  snprintf(own_folder, sizeof own_folder, "%s", folder);
  if (!table.open(own_folder)) return;
  code.open(own_folder);
  own_process = getpid();
  uint32_t version = 0;
  if (!find_functions(library) || functions.get_version(&version) != kSuccess ||
      version < kFirstWithThisPcRecord) {
    failed(SamplingStep::library, 0);
    return;
  }
  if (!open_counters_library()) {
    failed(SamplingStep::counters_library, 0);
    return;
  }
  if (void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) {
    push_current = reinterpret_cast<decltype(push_current)>(dlsym(driver, "cuCtxPushCurrent_v2"));
    pop_current = reinterpret_cast<decltype(pop_current)>(dlsym(driver, "cuCtxPopCurrent_v2"));
    get_attribute = reinterpret_cast<decltype(get_attribute)>(dlsym(driver, "cuDeviceGetAttribute"));
  }
  finished.store(false);
  CuptiResult result = functions.register_module_number(number_module);
  for (const uint32_t event : {kContextCreated, kContextDestroyStarting})
    if (result == kSuccess) result = functions.enable_callback(1, subscriber, kDomainResource, event);
  if (result != kSuccess) failed(SamplingStep::callbacks, result);
}

bool over(uint64_t calls) {
  if (getpid() != own_process || finished.load()) return true;
  const int64_t began = began_ns.load();
  if (began == 0) return true;
  const auto milliseconds = static_cast<uint64_t>((now_ns() - began) / 1'000'000);
  if (!ended.load() && calls <= kCallsAtOnce + kCallsASecond * milliseconds / 1'000) return false;
  if (!ended.exchange(true)) {
    const HeldTable held;
    table.header().ended_ns = now_ns();
  }
  return end_all(0);  // the program goes on
}

// A child of a fork has no thread of ours, and the file is its parent's.
void finish() {
  if (getpid() != own_process || finished.exchange(true)) return;
  wait_until([] { return callbacks.load() == 0; }, kLongestWait);
  if (!end_all(kLongestAtExit)) failed(SamplingStep::drain, kErrorNotReady);
}

}  // namespace

// The plug-in of GPU times looks for it by name.
extern "C" __attribute__((visibility("default")))
const GpuSamplesPlugIn diogenes_gpu_samples = {start, on_resource, driver_gate::pass, over, finish};

}  // namespace diogenes
