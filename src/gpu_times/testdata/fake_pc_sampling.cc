// The part of the library that stands in for CUPTI that samples: as cupti_pcsampling.h says, and as was seen on a GPU: some samples
// come late, and draining wants the context current.
#include "gpu_times/testdata/fake_pc_sampling.h"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "gpu_times/testdata/fake_cupti.h"

namespace diogenes::fake_cupti {

void call_back(uint32_t domain, uint32_t event, const void* data);  // fake_cupti.cc
extern std::atomic<int> calls_inside;                               // the same
extern "C" SamplingControls fake_pc_sampling;

namespace {

using namespace cupti;

constexpr Result kInvalidContext = 3, kInvalidOperation = 7;
constexpr struct {
  uint32_t number;
  const char* name;
} kReasons[] = {{kScoreboard, "smsp__pcsamp_warps_issue_stalled_long_scoreboard"},
                {kScoreboardNotIssued, "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued"},
                {kSelected, "smsp__pcsamp_warps_issue_stalled_selected"}};

struct State {
  PcData* rest = nullptr;  // null: not configured
  std::vector<Sample> samples;
  uint32_t period = 11;
};
std::recursive_mutex lock;
thread_local bool calls_back = false;
std::map<Context, State> contexts;  // that are sampled
ModuleNumber module_number = nullptr;
bool events[32];

Result misused(const char* how) {
  fake_pc_sampling.misuse.emplace_back(how);
  return kInvalidOperation;
}

void call_back_with(uint32_t event, Context context) {
  const ResourceData data{context, nullptr, nullptr};
  if (!events[event]) return;
  calls_back = true;
  call_back(kDomainResource, event, &data);
  calls_back = false;
}
void create(Context context) { call_back_with(kContextCreated, context); }
void destroy(Context context) {
  call_back_with(kContextDestroyStarting, context);
  const std::lock_guard held(lock);
  contexts.erase(context);
}
uint64_t load(const std::vector<uint8_t>& cubin) {
  uint64_t number = 0;
  if (module_number) module_number(cubin.data(), cubin.size(), &number);
  return number;
}
void sample(Context context, const Sample& one) {
  const std::lock_guard held(lock);
  contexts[context].samples.push_back(one);
}

// Moves what may be had into the buffer.
void give(State& state, PcData& to, bool late_ones) {
  to.count = to.remaining = 0;
  std::vector<Sample> kept;
  for (const Sample& one : state.samples) {
    if (one.late && !late_ones) {
      kept.push_back(one);
    } else if (to.count == to.room) {
      ++to.remaining;
      kept.push_back(one);
    } else {
      PcRecord& record = to.records[to.count++];
      record.module = one.module;
      record.offset = one.offset;
      record.function = strdup(one.function);
      record.reason_count = 0;
      for (const auto& [reason, samples] : one.counts) {
        record.reasons[record.reason_count++] = {reason, samples};
        to.total += samples;
      }
    }
  }
  state.samples = kept;
}

void* current_context() {
  static const auto current = reinterpret_cast<void* (*)()>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "fake_current_context"));
  return current();
}

}  // namespace

extern "C" {
SamplingControls fake_pc_sampling{.create = create, .destroy = destroy, .load = load, .sample = sample};

Result cuptiGetVersion(uint32_t* version) {
  *version = fake_pc_sampling.version;
  return kSuccess;
}
Result cuptiGetDeviceId(Context, uint32_t* device) {
  *device = 1;
  return kSuccess;
}
Result cuptiEnableCallback(uint32_t enable, Subscriber, uint32_t domain, uint32_t event) {
  if (domain == kDomainResource) events[event] = enable != 0;
  return kSuccess;
}
Result cuptiRegisterComputeCrcCallback(ModuleNumber callback) {
  module_number = callback;
  return fake_pc_sampling.register_result;
}
Result cuptiPCSamplingEnable(ContextParameters* parameters) {
  const std::lock_guard held(lock);
  if (parameters->bytes != sizeof *parameters) return misused("size of the parameters of Enable");
  if (fake_pc_sampling.enable_result != kSuccess) return fake_pc_sampling.enable_result;
  if (contexts.contains(parameters->context)) return misused("a context is enabled twice");
  contexts[parameters->context] = {};
  ++fake_pc_sampling.enabled;
  return kSuccess;
}
Result cuptiPCSamplingDisable(ContextParameters* parameters) {
  if (fake_pc_sampling.while_disabling) fake_pc_sampling.while_disabling();
  if (calls_inside > 0) return misused("sampling ends while a thread is in a call");
  const std::lock_guard held(lock);
  const auto found = contexts.find(parameters->context);
  if (found == contexts.end()) return misused("a context that is not enabled is disabled");
  ++fake_pc_sampling.disabled;
  if (found->second.rest) give(found->second, *found->second.rest, true);
  contexts.erase(found);
  return kSuccess;
}
Result cuptiPCSamplingGetNumStallReasons(ReasonCountParameters* parameters) {
  const std::lock_guard held(lock);
  if (!contexts.contains(parameters->context)) return misused("reasons are asked for before it is enabled");
  *parameters->count = std::size(kReasons);
  return fake_pc_sampling.reasons_result;
}
Result cuptiPCSamplingGetStallReasons(ReasonsParameters* parameters) {
  for (size_t i = 0; i < parameters->count; ++i) {
    parameters->reasons[i] = kReasons[i].number;
    snprintf(parameters->names[i], kReasonNameBytes, "%s", kReasons[i].name);
  }
  return parameters->count == std::size(kReasons) ? kSuccess : misused("number of reasons");
}
Result cuptiPCSamplingSetConfigurationAttribute(ConfigurationParameters* parameters) {
  const std::lock_guard held(lock);
  const auto found = contexts.find(parameters->context);
  if (found == contexts.end()) return misused("it is configured before it is enabled");
  if (fake_pc_sampling.configure_result != kSuccess) return fake_pc_sampling.configure_result;
  for (size_t i = 0; i < parameters->count; ++i) {
    Configuration& attribute = parameters->attributes[i];
    attribute.status = fake_pc_sampling.attribute_status;
    if (attribute.attribute == kSamplingPeriod) found->second.period = attribute.number;
    if (attribute.attribute == kDataBuffer) found->second.rest = attribute.data;
    if (attribute.attribute == kCollectionMode && attribute.number != kContinuous) return misused("mode");
    if (attribute.attribute == kStallReasons && attribute.list.count != std::size(kReasons))
      return misused("reasons");
  }
  return kSuccess;
}
Result cuptiPCSamplingGetConfigurationAttribute(ConfigurationParameters* parameters) {
  const std::lock_guard held(lock);
  parameters->attributes[0].number = contexts[parameters->context].period;
  return parameters->attributes[0].attribute == kSamplingPeriod ? kSuccess : misused("what is asked for");
}
Result cuptiPCSamplingGetData(DataParameters* parameters) {
  for (; fake_pc_sampling.stuck; usleep(1000)) fake_pc_sampling.hangs = true;
  const std::lock_guard held(lock);
  const auto found = contexts.find(parameters->context);
  if (found == contexts.end()) return misused("a context that is not enabled is drained");
  if (current_context() != parameters->context) return misused("the context is not current"), kInvalidContext;
  if (fake_pc_sampling.data_result != kSuccess) return fake_pc_sampling.data_result;
  ++fake_pc_sampling.drains;
  if (!calls_back) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    fake_pc_sampling.signals_blocked = sigismember(&blocked, SIGUSR1) && sigismember(&blocked, SIGPROF);
  }
  PcData& data = *parameters->data;
  if (fake_pc_sampling.buffer_full.exchange(false)) {
    data.buffer_full = 1;
    data.count = 0;
    return kErrorOutOfMemory;
  }
  give(found->second, data, false);
  data.dropped = fake_pc_sampling.dropped.exchange(0);
  data.foreign = fake_pc_sampling.foreign.exchange(0);
  data.total += data.dropped + data.foreign;
  return kSuccess;
}
}

}  // namespace diogenes::fake_cupti
