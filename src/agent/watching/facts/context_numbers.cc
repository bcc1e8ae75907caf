#include "agent/watching/facts/context_numbers.h"

#include "agent/core/calls/driver_calls.h"
#include "agent/core/lock.h"
#include "agent/core/pass_through.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/thread_state.h"
#include "base/fixed_map.h"
#include "driver/cuda_types.h"

namespace diogenes::agent::facts {

namespace {

struct Context {
  uint16_t number;
  bool page_tables;
};

constinit Lock lock;
FixedMap<Context, 1024> contexts;
FixedMap<uint8_t, 8192> streams;
uint16_t context_count = 0;
std::atomic<uint32_t> generation{1};  // changes when a context ends

bool reads_page_tables() {
  CUdevice device = 0;
  int value = 0;
  PassThrough pass;
  if (driver_calls.ctx_get_device && driver_calls.ctx_get_device(&device) == CUDA_SUCCESS &&
      driver_calls.device_get_attribute)
    driver_calls.device_get_attribute(&value, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device);
  return value != 0;
}

Context current_context() {
  CUcontext handle = nullptr;
  {
    PassThrough pass;
    if (!driver_calls.ctx_get_current || driver_calls.ctx_get_current(&handle) != CUDA_SUCCESS) return {};
  }
  auto key = reinterpret_cast<uint64_t>(handle);
  if (key == 0) return {};
  NumberedContext& kept = thread_state.context;
  uint32_t now = generation.load(std::memory_order_acquire);
  if (kept.handle == key && kept.generation == now) return {kept.number, kept.page_tables};
  Context context{};
  bool known = false;
  {
    LockGuard guard(lock);
    if (Context* found = contexts.find(key)) context = *found, known = true;
  }
  if (!known) {
    context.page_tables = reads_page_tables();
    LockGuard guard(lock);
    Context* found = contexts.find(key);
    if (!found && context_count < 0xffff) {
      context.number = ++context_count;
      if (!contexts.insert(key, context)) context.number = 0;
    } else if (found) {
      context = *found;
    }
  }
  kept = {key, now, context.number, context.page_tables};
  return context;
}

// True: for the first time.
bool first_sight(uint64_t key) {
  LockGuard guard(lock);
  if (streams.find(key)) return false;
  streams.insert(key, 1);  // full: said again each time, which readers take
  return true;
}

void record_stream(uint32_t stream, uint16_t context, uint8_t flags) {
  append(StreamRecord{.type = RecordType::stream, .flags = flags, .context = context, .stream = stream});
}

}  // namespace

void name_context_and_stream(const Call& call, bool may_ask, DecodedCall& decoded) {
  Context context = current_context();
  decoded.context = context.number;
  decoded.page_tables = context.page_tables;
  uint64_t handle = 0;
  bool per_thread = false;
  if (!read_stream(call, &handle, &per_thread)) return;
  decoded.names_stream = true;
  uint64_t key = uint64_t{call.stream} << 32 | 1;
  if (handle == 0) key |= uint64_t{context.number} << 1;
  if (per_thread) key ^= uint64_t{own_thread_file() + 1} * 0x9e3779b97f4a7c15;
  if (thread_state.named_stream == key) return;
  thread_state.named_stream = key;
  if (!first_sight(key)) return;
  uint8_t flags = context.page_tables ? kReadsPageTables : 0;
  if (handle == 0) {
    flags |= kBlockingStream | (context.number ? kCertainStream : 0);
  } else {
    // Its making was not seen: its context may be another than the current one, or a part of it.
    unsigned bits = 0;
    PassThrough pass;
    if (!may_ask || !driver_calls.stream_get_flags ||
        driver_calls.stream_get_flags(reinterpret_cast<CUstream>(handle), &bits) != CUDA_SUCCESS ||
        (bits & CU_STREAM_NON_BLOCKING) == 0)
      flags |= kBlockingStream;
  }
  record_stream(call.stream, context.number, flags);
}

void name_created_stream(const Call& call, uint16_t context) {
  first_sight(uint64_t{call.stream} << 32 | 1);
  uint8_t flags = context ? kCertainStream : 0;
  if (call.object == 0) flags |= kBlockingStream;
  if (thread_state.context.page_tables) flags |= kReadsPageTables;
  record_stream(call.stream, context, flags);
}

uint16_t number_of_context(uint64_t handle) {
  LockGuard guard(lock);
  Context* found = contexts.find(handle);
  return found ? found->number : 0;
}

uint16_t end_context(uint64_t handle) {
  LockGuard guard(lock);
  Context* found = contexts.find(handle);
  if (!found) return 0;
  uint16_t number = found->number;
  contexts.erase(handle);
  generation.fetch_add(1, std::memory_order_release);
  return number;
}

uint16_t contexts_seen() {
  current_context();
  LockGuard guard(lock);
  return context_count;
}

void forget_names() {
  contexts.clear();
  streams.clear();
  context_count = 0;
  generation.fetch_add(1, std::memory_order_release);
}

}  // namespace diogenes::agent::facts
