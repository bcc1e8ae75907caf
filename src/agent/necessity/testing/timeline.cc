#include "agent/necessity/testing/timeline.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "agent/driver_calls.h"
#include "agent/guard/watch_pieces.h"
#include "agent/necessity/collector.h"
#include "agent/pass_through.h"
#include "agent/recorder.h"
#include "agent/stack.h"

namespace diogenes::agent {

// ---- guards ----
namespace {
struct FakeGuard {
  AddressRange range;
  Protection protection;
  uint32_t registers = 0;
  bool up = false;
  Touch touch;
};
std::vector<FakeGuard> guards(1);
}  // namespace

bool start_guards() { return true; }
void guard_this_thread() {}
NoWatchpoints no_watchpoints{};
NoWatchpoints why_no_watchpoints() { return no_watchpoints; }
GuardHandle raise_guard(AddressRange range, Protection protection, const Watching& how) {
  if (testing::world().refuse_guards) return kNoGuard;
  uint32_t registers = 0;
  if (how.way == Way::watchpoints) {
    no_watchpoints = range.size() > 32 ? NoWatchpoints::does_not_fit : NoWatchpoints::none_here;
    if (!testing::world().watchpoints || range.size() > 32) return kNoGuard;
    registers = watch_pieces(range).count;
    uint32_t taken = 0;
    for (const FakeGuard& guard : guards) taken += guard.up ? guard.registers : 0;
    no_watchpoints = NoWatchpoints::all_taken;
    if (taken + registers > testing::world().registers) return kNoGuard;
  }
  guards.push_back({range, protection, registers, true, {}});
  return static_cast<GuardHandle>(guards.size() - 1);
}
Touch collect(GuardHandle guard) { return guards.at(guard).touch; }
void collect_unseen() {}
Touch lower_guard(GuardHandle guard) {
  guards.at(guard).up = false;
  return guards.at(guard).touch;
}
uint32_t touch_count() {
  return static_cast<uint32_t>(std::count_if(guards.begin(), guards.end(), [](const FakeGuard& guard) {
    return guard.touch.by != TouchBy::nobody;
  }));
}
void open_range(AddressRange range, TouchBy by) {
  for (auto& guard : guards)
    if (guard.up && guard.touch.by == TouchBy::nobody && guard.range.overlaps(range)) {
      guard.touch.by = by;
      guard.touch.at = monotonic_now();
    }
}
void open_all(TouchBy by) { open_range({0, ~0ull}, by); }
bool any_guard_up() { return true; }
void enter_driver() {}
void leave_driver() {}

FrameMarks frame_marks(uintptr_t) { return {}; }

// ---- recorder, stacks, own calls ----
bool append(const VerdictRecord& record) {
  testing::world().verdicts.push_back(record);
  return true;
}
bool append(const HashRecord& record) {
  testing::world().hashes.push_back(record);
  return true;
}
bool append(const UnusedRecord& record) {
  testing::world().unused.push_back(record);
  return true;
}
void count_drop(Drop cause) { ++testing::world().drops[cause]; }
void count_unwatched(uint32_t reasons) { ++testing::world().unwatched[reasons]; }
bool append(const WatchedRecord& record) {
  testing::world().watched.push_back(record);
  return true;
}
SiteKey site_key(uint16_t, uint32_t stack) { return stack; }
bool part_is_planned(PartKey part) { return testing::world().planned_parts.count(part) > 0; }
bool site_is_planned(uint16_t, uint32_t stack) { return testing::world().planned_stacks.count(stack) > 0; }

namespace {
int passing = 0;
}
PassThrough::PassThrough() { ++passing; }
PassThrough::~PassThrough() { --passing; }

// ---- driver ----
DriverCalls driver_calls;

namespace testing {

World& world() {
  static World the_world;
  return the_world;
}

namespace {

// The agent's own calls must pass the hooks.
void own_call() {
  EXPECT_GT(passing, 0);
  ++world().driver_calls_made;
}

CUresult ctx_get_current(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(world().context);
  return CUDA_SUCCESS;
}
CUresult ctx_get_device(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS ? world().page_tables : 0;
  return CUDA_SUCCESS;
}
CUresult pointer_get_attribute(void* out, CUpointer_attribute attribute, CUdeviceptr pointer) {
  own_call();
  auto known = world().pointers.find(pointer);
  if (known == world().pointers.end()) return CUDA_ERROR_INVALID_VALUE;
  unsigned value = attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED ? known->second.second : known->second.first;
  memcpy(out, &value, sizeof value);
  return CUDA_SUCCESS;
}
CUresult stream_get_flags(CUstream stream, unsigned* flags) {
  own_call();
  auto known = world().stream_flags.find(reinterpret_cast<uint64_t>(stream));
  if (known == world().stream_flags.end()) return CUDA_ERROR_INVALID_HANDLE;
  *flags = known->second;
  return CUDA_SUCCESS;
}
CUresult func_get_param_info(CUfunction function, size_t index, size_t* offset, size_t* size) {
  own_call();
  auto known = world().parameters.find(reinterpret_cast<uint64_t>(function));
  if (known == world().parameters.end()) return CUDA_ERROR_NOT_SUPPORTED;
  if (index >= known->second.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = 8 * index;
  *size = known->second[index];
  return CUDA_SUCCESS;
}
CUresult mem_host_alloc(void** out, size_t bytes, unsigned) {
  own_call();
  *out = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return CUDA_SUCCESS;
}
CUresult memcpy_dtoh_async(void* to, CUdeviceptr from, size_t bytes, CUstream) {
  own_call();
  if (from < 1 << 20) return CUDA_ERROR_INVALID_VALUE;
  memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return CUDA_SUCCESS;
}

}  // namespace

Timeline::Timeline(Stage stage, uint32_t watch_run, uint32_t watch_runs) {
  driver_calls = {};
  driver_calls.ctx_get_current = ctx_get_current;
  driver_calls.ctx_get_device = ctx_get_device;
  driver_calls.device_get_attribute = device_get_attribute;
  driver_calls.pointer_get_attribute = pointer_get_attribute;
  driver_calls.stream_get_flags = stream_get_flags;
  driver_calls.func_get_param_info = func_get_param_info;
  driver_calls.mem_host_alloc = mem_host_alloc;
  driver_calls.memcpy_dtoh_async = memcpy_dtoh_async;
  driver_calls.memcpy_dtoh_async_ptsz = memcpy_dtoh_async;
  now_ = monotonic_now().count;
  start_necessity(stage, watch_run, watch_runs);  // lowers the guards of the test before
  world() = {};
  guards.assign(1, {});
}

Timeline::~Timeline() {
  for (auto& [memory, bytes] : mapped_) munmap(memory, bytes);
}

void Timeline::begin(Open& open, const char* symbol, std::vector<uint64_t> arguments, uint8_t flags) {
  open.call = {};
  open.call.function = find_driver_function(symbol);
  open.call.driver = driver_function(open.call.function);
  ASSERT_NE(open.call.driver, nullptr) << symbol;
  arguments.resize(16);
  open.arguments = std::move(arguments);
  for (size_t i = 0; i < 6; ++i) open.call.arguments.integer[i] = open.arguments[i];
  open.call.arguments.on_stack = open.arguments.data() + 6;
  open.call.stack = world().stack;
  open.call.flags = flags;
  {
    PassThrough pass;
    necessity_before(open.call);
  }
  now_ = std::max(now_ + 1000, monotonic_now().count);
  open.call.begin = {now_};
}

Operation Timeline::end(Open& open, bool wait, int32_t result) {
  now_ = std::max(now_ + 1000, monotonic_now().count);
  open.call.end = {now_};
  open.call.result = result;
  if (wait) open.call.flags |= kWaited;
  open.call.id.thread = open.thread;
  open.call.id.sequence = ++operations_;
  PassThrough pass;
  necessity_after(open.call);
  now_ = std::max(now_, monotonic_now().count);
  return operations_;
}

Operation Timeline::call(const char* symbol, std::vector<uint64_t> arguments, bool wait, int32_t result,
                         uint8_t flags) {
  Open open;
  begin(open, symbol, std::move(arguments), flags);
  // What the driver does: copies move bytes, where both sides are real memory.
  const DriverFunction& driver = *open.call.driver;
  if (result == 0 && (flags & kCapturing) == 0 && driver.arguments == Arguments::copy &&
      open.arguments[0] > 1 << 20 && open.arguments[1] > 1 << 20)
    memmove(reinterpret_cast<void*>(open.arguments[0]), reinterpret_cast<const void*>(open.arguments[1]),
            open.arguments[2]);
  return end(open, wait, result);
}

Operation Timeline::launch(uint64_t stream, std::vector<uint64_t> parameters) {
  std::vector<void*> pointers;
  for (auto& parameter : parameters) pointers.push_back(&parameter);
  constexpr uint64_t kFunction = 0xf00;
  world().parameters[kFunction].assign(parameters.size(), 8);
  // The driver is asked once a function; each count of parameters is another function.
  uint64_t function = kFunction + 16 * parameters.size();
  world().parameters[function].assign(parameters.size(), 8);
  return call("cuLaunchKernel", {function, 1, 1, 1, 1, 1, 1, 0, stream, address(pointers.data()), 0});
}

Operation Timeline::d2h(void* host, uint64_t device, uint64_t bytes) {
  return call("cuMemcpyDtoH_v2", {address(host), device, bytes}, true);
}
Operation Timeline::d2h_async(void* host, uint64_t device, uint64_t bytes, uint64_t stream, bool wait) {
  return call("cuMemcpyDtoHAsync_v2", {address(host), device, bytes, stream}, wait);
}
Operation Timeline::h2d(uint64_t device, const void* host, uint64_t bytes) {
  return call("cuMemcpyHtoD_v2", {device, address(host), bytes}, true);
}
Operation Timeline::h2d_async(uint64_t device, const void* host, uint64_t bytes, uint64_t stream, bool wait) {
  return call("cuMemcpyHtoDAsync_v2", {device, address(host), bytes, stream}, wait);
}
void Timeline::stream(uint64_t handle, unsigned flags) { call("cuStreamCreate", {address(&handle), flags}); }
void Timeline::event(uint64_t handle) { call("cuEventCreate", {address(&handle), 0}); }

void* Timeline::pageable(uint64_t bytes, uint64_t offset) {
  size_t whole = (bytes + offset + 2 * kPageSize) & ~(kPageSize - 1);
  void* memory = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mapped_.push_back({memory, whole});
  return static_cast<char*>(memory) + offset;
}
void* Timeline::pinned(uint64_t bytes, unsigned flags) {
  void* memory = pageable(bytes);
  call("cuMemHostAlloc", {address(&memory), bytes, flags});
  return memory;
}
void* Timeline::managed(uint64_t bytes) {
  void* memory = pageable(bytes);
  call("cuMemAllocManaged", {address(&memory), bytes, CU_MEM_ATTACH_GLOBAL});
  return memory;
}
uint64_t Timeline::device(uint64_t bytes) {
  uint64_t memory = address(pageable(bytes));
  call("cuMemAlloc_v2", {address(&memory), bytes});
  return memory;
}
void Timeline::context(uint64_t current) { world().context = current; }

bool Timeline::touch(const void* where, bool write, TouchBy by, int64_t after) {
  bool seen = false;
  for (size_t i = 1; i < guards.size(); ++i) {
    FakeGuard& guard = guards[i];
    if (!guard.up || guard.touch.by != TouchBy::nobody || !guard.range.contains(address(where))) continue;
    if (guard.protection == Protection::read_only && !write) continue;
    guard.touch = {by, write ? Access::write : Access::read, {now_ + after}, address(where), 99};
    seen = true;
  }
  return seen;
}

int Timeline::guards_on(const void* where) {
  int count = 0;
  for (auto& guard : guards)
    count += guard.up && guard.touch.by == TouchBy::nobody && guard.range.contains(address(where));
  return count;
}

void Timeline::finish() {
  if (!finished_) {
    PassThrough pass;
    finish_necessity();
  }
  finished_ = true;
}

std::optional<VerdictRecord> Timeline::verdict(Operation operation) {
  finish();
  std::optional<VerdictRecord> found;
  for (auto& verdict : world().verdicts)
    if (verdict.sequence == operation) {
      // One more may only add that other work leans on it.
      EXPECT_TRUE(!found || verdict.reasons == kOrder || found->reasons == kOrder)
          << "two verdicts for operation " << operation;
      const uint32_t before = found ? found->reasons : 0;
      if (!found || verdict.after_ns >= 0) found = verdict;
      found->reasons |= before | verdict.reasons;
    }
  return found;
}
uint32_t Timeline::reasons(Operation operation) {
  auto found = verdict(operation);
  return found ? found->reasons : ~0u;
}
bool Timeline::verdict_is_out(Operation operation) {
  for (auto& verdict : world().verdicts)
    if (verdict.sequence == operation) return true;
  return false;
}
std::optional<HashRecord> Timeline::hash(Operation operation) {
  finish();
  for (auto& hash : world().hashes)
    if (hash.sequence == operation) return hash;
  return {};
}
Unused Timeline::unused(Operation operation) {
  finish();
  Unused found = Unused::no;
  for (auto& record : world().unused)
    if (record.sequence == operation) {
      EXPECT_EQ(found, Unused::no) << "twice for operation " << operation;
      found = record.unused;
    }
  return found;
}

}  // namespace testing
}  // namespace diogenes::agent
