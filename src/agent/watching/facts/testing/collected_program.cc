#include "agent/watching/facts/testing/collected_program.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "agent/core/calls/driver_calls.h"
#include "agent/core/calls/stream_numbers.h"
#include "agent/core/memory/copy.h"
#include "agent/core/memory/mappings.h"
#include "agent/core/pass_through.h"
#include "agent/core/recording/process_folder.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/core/stacks/stack.h"
#include "agent/watching/facts/decoding/operands.h"
#include "agent/watching/facts/fact_collector.h"
#include "agent/watching/guard/releases.h"
#include "agent/watching/guard/threads/threads.h"
#include "agent/watching/guard/watch_records.h"
#include "agent/watching/order/order.h"

namespace diogenes::agent {

using testing::world;

// ---- guards ----
namespace {

struct FakeGuard {
  AddressRange range;
  Protection protection;
  bool up = false;
  Touch touch;
};
std::vector<FakeGuard> guards(1);
unsigned char* operands_file = nullptr;
int passing = 0;

}  // namespace

NoWatchpoints why_no_watchpoints() { return NoWatchpoints::all_taken; }
GuardHandle raise_guard(AddressRange range, Protection protection, const Watching&) {
  if (world().refuse_guards) return kNoGuard;
  guards.push_back({range, protection, true, {}});
  return static_cast<GuardHandle>(guards.size() - 1);
}
Touch collect(GuardHandle guard) { return guards.at(guard).touch; }
Touch lower_guard(GuardHandle guard) {
  guards.at(guard).up = false;
  return guards.at(guard).touch;
}
uint32_t touch_count() {
  return static_cast<uint32_t>(std::count_if(guards.begin(), guards.end(), [](const FakeGuard& guard) {
    return guard.touch.by != TouchBy::nobody;
  }));
}
void open_range(AddressRange, TouchBy) {}
void end_guarding() {}
void collect_unseen() {}
bool copy_watched_if_there(void* to, const void* from, uint64_t bytes) {
  return copy_if_there(to, from, bytes);
}
bool guards_wanted() { return true; }
uint64_t stack_left() { return world().stack_left; }
Threads threads_now() { return {}; }
bool has_had_threads() { return false; }
void follow_releases(const ReleaseFollower&) {}
uint32_t next_watch() { return 1; }
void record_watch(uint32_t, AddressRange, Protection, Nanoseconds) {}
void record_refusal(AddressRange, WatchRefusal refusal) { world().refusals.push_back(refusal); }
void record_late_ends() {}
void record_sleepers() {}
bool stage_uses_guards() { return true; }
FrameMarks frame_marks(uintptr_t) { return {}; }

// ---- recorder, plan, own calls ----
bool append_record(const void* record, OperationId*) {
  switch (*static_cast<const RecordType*>(record)) {
    case RecordType::call:
      world().calls.push_back(*static_cast<const CallRecord*>(record));
      break;
    case RecordType::hash:
      world().hashes.push_back(*static_cast<const HashRecord*>(record));
      break;
    case RecordType::memory_event:
      world().memory_events.push_back(*static_cast<const MemoryEventRecord*>(record));
      break;
    case RecordType::stream:
      world().streams.push_back(*static_cast<const StreamRecord*>(record));
      break;
    default:
      break;
  }
  return true;
}
uint32_t own_thread_file() { return 0; }
void count_drop(Drop cause) { ++world().drops[cause]; }
void* map_file_part(const char*, uint64_t offset, size_t bytes, void* where) {
  void* memory = mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (offset == 0) operands_file = static_cast<unsigned char*>(memory);
  return memory;
}
const MappedPlan& plan() {
  static Plan contents{};
  contents.stage = Stage::memory_tracing;
  contents.max_overhead = 2;
  contents.baseline_ns = world().baseline_ns;
  static MappedPlan mapped;
  mapped.plan = &contents;
  return mapped;
}
thread_local constinit ThreadState thread_state;
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

constexpr uint64_t kFunction = 0xf00;

// The agent's own calls must pass the hooks.
void own_call() {
  EXPECT_GT(passing, 0);
  ++world().driver_calls;
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
CUresult pointer_get_attribute(void*, CUpointer_attribute, CUdeviceptr) {
  own_call();
  return CUDA_ERROR_INVALID_VALUE;
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
  memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return CUDA_SUCCESS;
}

Node& of(CUgraphNode node) { return *reinterpret_cast<Node*>(node); }

CUresult graph_get_nodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  auto found = world().graphs.find(reinterpret_cast<uint64_t>(graph));
  if (found == world().graphs.end()) return CUDA_ERROR_INVALID_VALUE;
  *count = found->second.size();
  size_t i = 0;
  for (Node& node : found->second)
    if (nodes) nodes[i++] = reinterpret_cast<CUgraphNode>(&node);
  return CUDA_SUCCESS;
}
CUresult graph_node_get_type(CUgraphNode node, CUgraphNodeType* type) {
  *type = of(node).type;
  return CUDA_SUCCESS;
}
CUresult graph_kernel_node_get_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* kernel) {
  const uint64_t function = kFunction + 16 * of(node).parameters.size();
  world().parameters[function].assign(of(node).parameters.size(), 8);
  kernel->func = reinterpret_cast<CUfunction>(function);
  kernel->kernelParams = of(node).pointers.data();
  return CUDA_SUCCESS;
}
CUresult graph_kernel_node_get_attribute(CUgraphNode node, CUlaunchAttributeID,
                                         CUlaunchAttributeValue* value) {
  value->deviceUpdatableKernelNode.deviceUpdatable = of(node).updatable;
  return CUDA_SUCCESS;
}
CUresult graph_memcpy_node_get_params(CUgraphNode node, CUDA_MEMCPY3D* copy) {
  *copy = of(node).copy;
  return CUDA_SUCCESS;
}
CUresult graph_memset_node_get_params(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* fill) {
  *fill = of(node).fill;
  return CUDA_SUCCESS;
}
CUresult graph_child_node_get_graph(CUgraphNode node, CUgraph* graph) {
  *graph = reinterpret_cast<CUgraph>(of(node).child);
  return CUDA_SUCCESS;
}

}  // namespace

const OperandRecord* Recorded::operand(uint64_t begin) const {
  for (const OperandRecord& one : operands)
    if (one.begin == begin) return &one;
  return nullptr;
}

Program::Program() {
  driver_calls = {};
  driver_calls.ctx_get_current = ctx_get_current;
  driver_calls.ctx_get_device = ctx_get_device;
  driver_calls.device_get_attribute = device_get_attribute;
  driver_calls.pointer_get_attribute = pointer_get_attribute;
  driver_calls.func_get_param_info = func_get_param_info;
  driver_calls.mem_host_alloc = mem_host_alloc;
  driver_calls.memcpy_dtoh_async = memcpy_dtoh_async;
  driver_calls.graph_get_nodes = graph_get_nodes;
  driver_calls.graph_node_get_type = graph_node_get_type;
  driver_calls.graph_kernel_node_get_params = graph_kernel_node_get_params;
  driver_calls.graph_kernel_node_get_attribute = graph_kernel_node_get_attribute;
  driver_calls.graph_memcpy_node_get_params = graph_memcpy_node_get_params;
  driver_calls.graph_memset_node_get_params = graph_memset_node_get_params;
  driver_calls.graph_child_node_get_graph = graph_child_node_get_graph;
  facts::start();
  forget_mappings();
  thread_state = {};
  world() = {};
  guards.assign(1, {});
}

Program::~Program() {
  for (auto& [memory, bytes] : mapped_) munmap(memory, bytes);
}

Recorded Program::call(const char* symbol, std::vector<uint64_t> arguments, bool waits, int32_t result,
                       uint8_t flags) {
  Call call;
  call.function = find_driver_function(symbol);
  call.driver = driver_function(call.function);
  if (!call.driver) {
    ADD_FAILURE() << symbol << " is not in the catalogue";
    return {};
  }
  arguments.resize(16);
  for (size_t i = 0; i < 6; ++i) call.arguments.integer[i] = arguments[i];
  call.arguments.on_stack = arguments.data() + 6;
  PassThrough pass;
  number_objects(call);
  call.flags |= flags;
  facts::before(call);
  call.begin = monotonic_now();
  // What the driver does: copies move bytes.
  if (result == 0 && !(call.flags & kCapturing) && call.driver->arguments == Arguments::copy)
    memmove(reinterpret_cast<void*>(arguments[0]), reinterpret_cast<const void*>(arguments[1]), arguments[2]);
  call.end = monotonic_now();
  call.result = result;
  if (waits) call.flags |= kWaited;
  number_new_objects(call);
  facts::after(call);
  call.id.thread = 0;
  call.id.sequence = sequence_;
  facts::record_call(call);
  Recorded recorded;
  recorded.sequence = sequence_++;
  recorded.call = world().calls.back();
  if (recorded.call.operands == 0) return recorded;
  auto* header =
      reinterpret_cast<const OperandListHeader*>(operands_file + uint64_t{recorded.call.operands} * 8);
  auto* first = reinterpret_cast<const OperandRecord*>(header + 1);
  recorded.flags = header->flags;
  recorded.operands.assign(first, first + header->count - 1);
  return recorded;
}

// The driver is asked once a function; each count of parameters is another function.
static uint64_t function_with(size_t parameters) {
  const uint64_t function = kFunction + 16 * parameters;
  world().parameters[function].assign(parameters, 8);
  return function;
}

static std::vector<void*> addresses_of(std::vector<uint64_t>& parameters) {
  std::vector<void*> pointers;
  for (uint64_t& parameter : parameters) pointers.push_back(&parameter);
  return pointers;
}

Recorded Program::launch(uint64_t stream, std::vector<uint64_t> parameters) {
  std::vector<void*> pointers = addresses_of(parameters);
  const uint64_t function = function_with(parameters.size());
  return call("cuLaunchKernel", {function, 1, 1, 1, 1, 1, 1, 0, stream, address(pointers.data()), 0});
}

void Program::instantiate(uint64_t graph, uint64_t flags) {
  uint64_t executable = kExecutable;
  call("cuGraphInstantiateWithFlags", {address(&executable), graph, flags});
}

void* Program::pageable(uint64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mapped_.emplace_back(memory, bytes);
  return memory;
}
void* Program::pinned(uint64_t bytes, unsigned flags) {
  void* memory = pageable(bytes);
  call("cuMemHostAlloc", {address(&memory), bytes, flags});
  return memory;
}
void* Program::managed(uint64_t bytes) {
  void* memory = pageable(bytes);
  call("cuMemAllocManaged", {address(&memory), bytes, CU_MEM_ATTACH_GLOBAL});
  return memory;
}
uint64_t Program::device(uint64_t bytes) {
  uint64_t memory = address(pageable(bytes));
  call("cuMemAlloc_v2", {address(&memory), bytes});
  return memory;
}

void Program::end() {
  PassThrough pass;
  facts::finish();
}

Node& Program::node(uint64_t graph, CUgraphNodeType type) {
  Node& made = world().graphs[graph].emplace_back();
  made.type = type;
  return made;
}
Node& Program::kernel_node(uint64_t graph, std::vector<uint64_t> parameters) {
  Node& made = node(graph, CU_GRAPH_NODE_TYPE_KERNEL);
  made.parameters = std::move(parameters);
  for (uint64_t& parameter : made.parameters) made.pointers.push_back(&parameter);
  return made;
}
Node& Program::download_node(uint64_t graph, void* to, uint64_t from, uint64_t bytes) {
  Node& made = node(graph, CU_GRAPH_NODE_TYPE_MEMCPY);
  made.copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, made.copy.srcDevice = from;
  made.copy.dstMemoryType = CU_MEMORYTYPE_HOST, made.copy.dstHost = to;
  made.copy.WidthInBytes = bytes, made.copy.Height = made.copy.Depth = 1;
  return made;
}

bool Program::is_guarded(const void* where) const {
  return std::any_of(guards.begin(), guards.end(), [where](const FakeGuard& guard) {
    return guard.up && guard.touch.by == TouchBy::nobody && guard.range.contains(address(where));
  });
}

bool Program::touch(const void* where, bool write) {
  bool seen = false;
  for (FakeGuard& guard : guards) {
    if (!guard.up || guard.touch.by != TouchBy::nobody || !guard.range.contains(address(where))) continue;
    if (guard.protection == Protection::read_only && !write) continue;
    guard.touch = {TouchBy::program, write ? Access::write : Access::read, monotonic_now(), address(where),
                   99};
    seen = true;
  }
  return seen;
}

std::optional<HashRecord> Program::hash(const Recorded& copy) const {
  for (const HashRecord& hash : world().hashes)
    if (hash.sequence == copy.sequence) return hash;
  return {};
}

}  // namespace testing
}  // namespace diogenes::agent
