#include "agent/watching/host_functions.h"

#include <atomic>
#include <cstring>

#include "agent/core/calls/stream_numbers.h"
#include "agent/core/lock.h"
#include "agent/core/memory/copy.h"
#include "agent/core/pass_through.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/watching/guard/guards.h"
#include "driver/cuda_abi.h"

namespace diogenes::agent {

namespace {

enum class Shape : uint8_t {
  none,
  function_then_data,  // CUhostFn 1, data 2
  data_then_function,  // data 1, CUhostFn 2
  callback,            // CUstreamCallback 1, data 2
  host_node,           // const CUDA_HOST_NODE_PARAMS* at `position`
  host_node_out,       // CUDA_HOST_NODE_PARAMS* 1, written by the driver
  any_node,            // const CUgraphNodeParams* at `position`, of a host node or another
  unknown,             // another kind of callback
};

struct Taker {
  const char* operation;
  Shape shape;
  uint8_t position = 0;
};

constexpr Taker kTakers[] = {
    {"cuLaunchHostFunc", Shape::function_then_data},
    {"cuStreamAddCallback", Shape::callback},
    {"cuUserObjectCreate", Shape::data_then_function},
    {"cuGraphAddHostNode", Shape::host_node, 4},
    {"cuGraphHostNodeSetParams", Shape::host_node, 1},
    {"cuGraphExecHostNodeSetParams", Shape::host_node, 2},
    {"cuGraphHostNodeGetParams", Shape::host_node_out, 1},
    {"cuGraphAddNode", Shape::any_node, 4},  // _v2: 5
    {"cuGraphNodeSetParams", Shape::any_node, 1},
    {"cuGraphExecNodeSetParams", Shape::any_node, 2},
    {"cuDeviceRegisterAsyncNotification", Shape::unknown},
    {"cuLogsRegisterCallback", Shape::unknown},
};

Taker taker(const DriverFunction& function) {
  if (function.role != Role::host_function && function.role != Role::graph &&
      function.role != Role::initialize)
    return {};
  for (const Taker& known : kTakers) {
    if (strcmp(known.operation, function.operation) != 0) continue;
    Taker found = known;
    if (strcmp(function.symbol, "cuGraphAddNode_v2") == 0) found.position = 5;
    return found;
  }
  return {};
}

struct HostNode {  // CUDA_HOST_NODE_PARAMS
  void* function;
  void* data;
};
struct AnyNode {  // CUgraphNodeParams
  int32_t type;
  int32_t reserved[3];
  HostNode host;  // of a union of 232 bytes
  uint8_t rest[232 - sizeof(HostNode) + 8];
};
static_assert(sizeof(AnyNode) == 256);
constexpr int32_t kHostNodeType = 3;  // CU_GRAPH_NODE_TYPE_HOST

// One function and argument that the driver was given ours for. `once`: it runs one time, and then the entry
// is free again; else it lives as long as the process, since graphs are cloned and run as often as they like.
struct Entry {
  void* function;
  void* data;
  bool callback;
  bool once;
  std::atomic<uint8_t> done;  // of `once`: it ran, the call that gave it returned; whoever is second frees it
  uint32_t next;              // in its bucket, or of those that are free; 0: none
};
enum : uint8_t { kRan = 1, kReturned = 2 };

constexpr uint32_t kEntries = 1 << 14;
constexpr uint32_t kBuckets = 1 << 12;

Lock lock;
Entry entries[kEntries + 1];  // from 1
uint32_t used_before = 0;     // entries after this one were never used
uint32_t spare = 0;
uint32_t buckets[kBuckets];

uint32_t bucket_of(const void* function, const void* data) {
  auto mixed = (reinterpret_cast<uintptr_t>(function) ^ reinterpret_cast<uintptr_t>(data) * 31) *
               0x9e3779b97f4a7c15ull;
  return static_cast<uint32_t>(mixed >> 40) % kBuckets;
}

// 0: no room, or the lock's holder is gone (a forked child).
uint32_t take_entry(void* function, void* data, bool callback, bool once) {
  if (!lock.try_lock(100000)) return 0;
  uint32_t& bucket = buckets[bucket_of(function, data)];
  uint32_t at = once ? 0 : bucket;
  for (; at; at = entries[at].next)
    if (entries[at].function == function && entries[at].data == data && entries[at].callback == callback)
      break;
  if (!at) {
    if (spare) {
      at = spare;
      spare = entries[at].next;
    } else if (used_before < kEntries) {
      at = ++used_before;
    }
    if (at) {
      Entry& entry = entries[at];
      entry.function = function, entry.data = data, entry.callback = callback, entry.once = once;
      entry.done.store(0, std::memory_order_relaxed);
      entry.next = once ? 0 : bucket;
      if (!once) bucket = at;
    }
  }
  lock.unlock();
  return at;
}

void free_entry(Entry& entry) {
  LockGuard guard(lock);
  entry.next = spare;
  spare = static_cast<uint32_t>(&entry - entries);
}

// `what`: it ran, or its call returned.
void finish(Entry& entry, uint8_t what) {
  constexpr uint8_t kBoth = kRan | kReturned;
  if (entry.done.fetch_or(what, std::memory_order_acq_rel) == (kBoth ^ what)) free_entry(entry);
}

template <typename Run>
void run_as_program(void* opaque, Run&& run) {
  auto& entry = *static_cast<Entry*>(opaque);
  void *function = entry.function, *data = entry.data;
  if (entry.once) {
    PassThrough pass;
    finish(entry, kRan);
  }
  ProgramCode before;
  enter_program_code(before);
  run(function, data);
  leave_program_code(before);
}

void run_function(void* entry) {
  run_as_program(entry,
                 [](void* function, void* data) { reinterpret_cast<void (*)(void*)>(function)(data); });
}

void run_callback(CUstream stream, CUresult status, void* entry) {
  run_as_program(entry, [=](void* function, void* data) {
    reinterpret_cast<void (*)(CUstream, CUresult, void*)>(function)(stream, status, data);
  });
}

// Ours for the program's. Null: no room, or it gave none.
Entry* ours_for(void* function, void* data, bool callback, bool once) {
  if (!function) return nullptr;
  uint32_t at = take_entry(function, data, callback, once);
  if (!at) end_guarding();
  return at ? &entries[at] : nullptr;
}

void tell_programs(HostNode& node) {
  auto at = reinterpret_cast<uintptr_t>(node.data), first = reinterpret_cast<uintptr_t>(entries);
  if (node.function != reinterpret_cast<void*>(run_function) || at < first || at >= first + sizeof entries)
    return;
  const auto& entry = *static_cast<const Entry*>(node.data);
  node = {entry.function, entry.data};
}

// Structures of the program's are not written to: the driver reads a copy, which is ours until the call is
// over.
struct Copy {
  std::atomic<bool> used{false};
  union {
    HostNode host;
    AnyNode any;
  };
  Copy() {}
};
constexpr uint32_t kCopies = 64;
Copy copies[kCopies];

Copy* take_copy() {
  for (auto& copy : copies)
    if (!copy.used.load(std::memory_order_relaxed) && !copy.used.exchange(true, std::memory_order_acquire))
      return &copy;
  end_guarding();
  return nullptr;
}

}  // namespace

bool host_functions_are_hooked() {
  const ProcessFile* process = process_file();
  if (!process) return false;
  for (uint32_t i = 0; i < plan().plan->hook_count; ++i) {
    const DriverFunction* function = driver_function(plan().hooks[i].function);
    if (function && taker(*function).shape != Shape::none &&
        process->hook_state[i] != static_cast<uint8_t>(HookState::installed))
      return false;
  }
  return true;
}

void wrap_host_function(Call& call, uint64_t* registers) {
  Taker found = taker(*call.driver);
  if (found.shape == Shape::none || found.shape == Shape::host_node_out || !guards_wanted()) return;
  auto pointer = [&](int position) { return reinterpret_cast<void*>(registers[position]); };
  auto lend = [&](Entry* entry, int function, int data, void* ours) {
    if (!entry) return;
    registers[function] = reinterpret_cast<uint64_t>(ours);
    registers[data] = reinterpret_cast<uint64_t>(entry);
    if (entry->once) call.host_entry = static_cast<uint32_t>(entry - entries);
  };
  auto change = [](HostNode& host) {
    if (Entry* entry = ours_for(host.function, host.data, false, false))
      host = {reinterpret_cast<void*>(run_function), entry};
  };
  switch (found.shape) {
    case Shape::function_then_data:  // into a graph, where a capture is under way
      lend(ours_for(pointer(1), pointer(2), false, !any_capture_begun()), 1, 2,
           reinterpret_cast<void*>(run_function));
      break;
    case Shape::data_then_function:
      lend(ours_for(pointer(2), pointer(1), false, true), 2, 1, reinterpret_cast<void*>(run_function));
      break;
    case Shape::callback:
      lend(ours_for(pointer(1), pointer(2), true, true), 1, 2, reinterpret_cast<void*>(run_callback));
      break;
    case Shape::host_node:
    case Shape::any_node: {
      bool any = found.shape == Shape::any_node;
      uint64_t bytes = any ? sizeof(AnyNode) : sizeof(HostNode);
      open_range(AddressRange::of(registers[found.position], bytes).pages(), TouchBy::driver);
      Copy* copy = take_copy();
      if (!copy) break;
      if (!copy_if_there(&copy->any, pointer(found.position), bytes) ||
          (any && copy->any.type != kHostNodeType)) {
        copy->used.store(false, std::memory_order_release);
        break;
      }
      change(any ? copy->any.host : copy->host);
      registers[found.position] = reinterpret_cast<uint64_t>(&copy->any);
      call.host_copy = static_cast<uint32_t>(copy - copies) + 1;
      break;
    }
    default:
      end_guarding();
      break;
  }
}

void unwrap_host_function(Call& call) {
  if (call.host_copy) copies[call.host_copy - 1].used.store(false, std::memory_order_release);
  if (call.host_entry) {
    Entry& entry = entries[call.host_entry];
    // Begun meanwhile by another thread: it may be in a graph now, and nobody can tell. It stays.
    bool kept = strcmp(call.driver->operation, "cuLaunchHostFunc") == 0 && any_capture_begun();
    if (!call.succeeded() && !kept) finish(entry, kRan);  // it never will
    if (!kept) finish(entry, kReturned);
  }
  if (!call.succeeded() || taker(*call.driver).shape != Shape::host_node_out) return;
  if (auto* told = call.pointer<HostNode*>(1)) tell_programs(*told);
}

}  // namespace diogenes::agent
