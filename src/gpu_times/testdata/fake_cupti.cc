// Stands in for libcupti: the functions that the plug-in looks up, with the behaviour that CUPTI documents,
// and `fake_cupti`, through which a test plays the driver and the GPU.
#include "gpu_times/testdata/fake_cupti.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace diogenes::fake_cupti {

std::atomic<int> calls_inside{0};  // behind the callback at their entry, and before that at their end

void call_back(uint32_t domain, uint32_t event, const void* data);

namespace {

using namespace cupti;

constexpr size_t kRecordsApart = 512;  // records have rests that the plug-in does not know
constexpr size_t kRecordsInBuffer = 8;

std::mutex lock;
Callback callback = nullptr;
BufferRequested requested = nullptr;
BufferCompleted completed = nullptr;
std::atomic<uint32_t> correlations{0};
uint8_t* buffer = nullptr;
size_t bytes = 0, valid = 0;

uint32_t call();
void enter();
void leave();

void deliver() {
  if (buffer) completed(nullptr, 0, buffer, bytes, valid);
  buffer = nullptr;
}

template <typename Record>
void add(const Record& record) {
  std::lock_guard held(lock);
  size_t most = 0;
  if (!buffer) requested(&buffer, &bytes, &most), valid = 0;
  memset(buffer + valid, 0xee, kRecordsApart);
  memcpy(buffer + valid, &record, sizeof record);
  valid += kRecordsApart;
  if (valid == kRecordsInBuffer * kRecordsApart) deliver();
}

void kernel(uint32_t correlation, int64_t begin_ns, int64_t end_ns, uint32_t stream, const char* name) {
  Kernel record{};
  record.kind = kConcurrentKernel;
  record.start = static_cast<uint64_t>(begin_ns);
  record.end = static_cast<uint64_t>(end_ns);
  record.stream = stream;
  record.correlation = correlation;
  record.name = name;
  record.grid[0] = 7;
  record.block[0] = 256;
  record.registers_per_thread = 40;
  record.dynamic_shared_memory = 1024;
  add(record);
}

void copy(uint32_t correlation, int64_t begin_ns, int64_t end_ns, uint8_t copy_kind) {
  Memcpy record{};
  record.kind = kMemcpy;
  record.copy_kind = copy_kind;
  record.start = static_cast<uint64_t>(begin_ns);
  record.end = static_cast<uint64_t>(end_ns);
  record.correlation = correlation;
  add(record);
}

void fill(uint32_t correlation, int64_t begin_ns, int64_t end_ns) {
  Memset record{};
  record.kind = kMemset;
  record.start = static_cast<uint64_t>(begin_ns);
  record.end = static_cast<uint64_t>(end_ns);
  record.correlation = correlation;
  add(record);
}

}  // namespace

void call_back(uint32_t domain, uint32_t event, const void* data) { callback(nullptr, domain, event, data); }

extern "C" {
Controls fake_cupti = {kSuccess, kSuccess, {},    false,  false, 0,   nullptr,
                       call,     enter,    leave, kernel, copy,  fill};

Result cuptiSubscribe(Subscriber* subscriber, Callback wanted, void*) {
  if (fake_cupti.subscribe_result != kSuccess) return fake_cupti.subscribe_result;
  callback = wanted;
  fake_cupti.subscribed = true;
  *subscriber = &fake_cupti;
  return kSuccess;
}
Result cuptiSubscribe_v2(Subscriber* subscriber, Callback, void*, SubscriberParameters* parameters) {
  if (!fake_cupti.holder) {
    fake_cupti.subscribed = true;
    *subscriber = &fake_cupti;
    return kSuccess;
  }
  snprintf(parameters->holder, parameters->holder_bytes, "%s", fake_cupti.holder);
  return kErrorMultipleSubscribers;
}
Result cuptiUnsubscribe(Subscriber) {
  fake_cupti.subscribed = false;
  return kSuccess;
}
Result cuptiEnableDomain(uint32_t enable, Subscriber, uint32_t domain) {
  if (domain == kDomainDriver) fake_cupti.domain_enabled = enable != 0;
  return kSuccess;
}
Result cuptiActivityRegisterCallbacks(BufferRequested wanted, BufferCompleted done) {
  requested = wanted;
  completed = done;
  return kSuccess;
}
Result cuptiActivityRegisterTimestampCallback(Timestamp) { return kSuccess; }
Result cuptiActivityEnable(Kind kind) {
  if (kind == kConcurrentKernel && fake_cupti.kernels_result != kSuccess) return fake_cupti.kernels_result;
  fake_cupti.enabled[kind] = true;
  return kSuccess;
}
Result cuptiActivityDisable(Kind kind) {
  fake_cupti.enabled[kind] = false;
  return kSuccess;
}
Result cuptiActivityGetNextRecord(uint8_t* from, size_t bytes_valid, Activity** record) {
  auto* next = *record ? reinterpret_cast<uint8_t*>(*record) + kRecordsApart : from;
  if (next >= from + bytes_valid) return 12;  // CUPTI_ERROR_MAX_LIMIT_REACHED
  *record = reinterpret_cast<Activity*>(next);
  return kSuccess;
}
Result cuptiActivityFlushAll(uint32_t) {
  std::lock_guard held(lock);
  ++fake_cupti.flushes;
  deliver();
  return kSuccess;
}
}

namespace {
void cross(uint32_t site, uint32_t correlation) {
  if (site == 1) --calls_inside;
  CallbackData data{};
  data.correlation = correlation;
  data.site = site;
  if (fake_cupti.domain_enabled) callback(nullptr, kDomainDriver, 307, &data);
  if (site == 0) ++calls_inside;
}
void enter() { cross(0, correlations.fetch_add(1) + 1); }
void leave() { cross(1, correlations); }
uint32_t call() {
  const uint32_t correlation = correlations.fetch_add(1) + 1;
  cross(0, correlation);
  cross(1, correlation);
  return correlation;
}
}  // namespace

}  // namespace diogenes::fake_cupti
