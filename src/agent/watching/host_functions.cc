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
#include "driver/cuda_types.h"

namespace diogenes::agent {

namespace {

enum class Shape : uint8_t {
  none,
  function_then_data,  // CUhostFn 1, data 2
  data_then_function,  // data 1, CUhostFn 2
  callback,            // CUstreamCallback 1, data 2
  any_node,            // const CUgraphNodeParams* 4 or 5, of a host node or another
  not_followed,        // a host node, or another kind of callback
};

struct Taker {
  const char* operation;
  Shape shape;
};

constexpr Taker kTakers[] = {
    {"cuLaunchHostFunc", Shape::function_then_data},
    {"cuStreamAddCallback", Shape::callback},
    {"cuUserObjectCreate", Shape::data_then_function},
    {"cuGraphAddHostNode", Shape::not_followed},
    {"cuGraphAddNode", Shape::any_node},
    {"cuDeviceRegisterAsyncNotification", Shape::not_followed},
    {"cuLogsRegisterCallback", Shape::not_followed},
};

Shape shape_of(const DriverFunction& function) {
  if (function.role != Role::host_function && function.role != Role::graph &&
      function.role != Role::initialize)
    return Shape::none;
  for (const Taker& known : kTakers)
    if (strcmp(known.operation, function.operation) == 0) return known.shape;
  return Shape::none;
}

// One function and argument that the driver was given ours for. It runs one time, and then the entry is free again.
struct Entry {
  void* function;
  void* data;
  std::atomic<uint8_t> done;  // it ran, the call that gave it returned; whoever is second frees it
  uint32_t next;              // of those that are free; 0: none
};
enum : uint8_t { kRan = 1, kReturned = 2 };

constexpr uint32_t kEntries = 1 << 14;

Lock lock;
constinit Entry entries[kEntries + 1] = {};  // from 1
uint32_t used_before = 0;                    // entries after this one were never used
uint32_t spare = 0;

// Null: no room, or the lock's holder is gone (a forked child).
Entry* take_entry() {
  if (!lock.try_lock(100000)) return nullptr;
  uint32_t at = 0;
  if (spare) {
    at = spare;
    spare = entries[at].next;
  } else if (used_before < kEntries) {
    at = ++used_before;
  }
  lock.unlock();
  return at ? &entries[at] : nullptr;
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
  {
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

}  // namespace

bool host_functions_are_hooked() {
  const ProcessFile* process = process_file();
  if (!process) return false;
  for (uint32_t i = 0; i < plan().plan->hook_count; ++i) {
    const DriverFunction* function = driver_function(plan().hooks[i].function);
    if (function && shape_of(*function) != Shape::none &&
        process->hook_state[i] != static_cast<uint8_t>(HookState::installed))
      return false;
  }
  return true;
}

void wrap_host_function(Call& call, uint64_t* registers) {
  const Shape shape = shape_of(*call.driver);
  if (shape == Shape::none || !guards_wanted()) return;
  // Ours for the program's at these positions.
  auto lend = [&](int function, int data, void* ours) {
    if (!registers[function]) return;
    Entry* entry = call.flags & kCapturing ? nullptr : take_entry();
    if (!entry) return end_guarding();
    entry->function = reinterpret_cast<void*>(registers[function]);
    entry->data = reinterpret_cast<void*>(registers[data]);
    entry->done.store(0, std::memory_order_relaxed);
    registers[function] = reinterpret_cast<uint64_t>(ours);
    registers[data] = reinterpret_cast<uint64_t>(entry);
    call.host_entry = static_cast<uint32_t>(entry - entries);
  };
  switch (shape) {
    case Shape::function_then_data:
      return lend(1, 2, reinterpret_cast<void*>(run_function));
    case Shape::data_then_function:
      return lend(2, 1, reinterpret_cast<void*>(run_function));
    case Shape::callback:
      return lend(1, 2, reinterpret_cast<void*>(run_callback));
    case Shape::any_node: {
      const uint64_t node = registers[strcmp(call.driver->symbol, "cuGraphAddNode_v2") == 0 ? 5 : 4];
      CUgraphNodeType type{};
      if (copy_if_there(&type, reinterpret_cast<void*>(node), sizeof type) && type != CU_GRAPH_NODE_TYPE_HOST)
        return;
      return end_guarding();
    }
    default:
      return end_guarding();
  }
}

void unwrap_host_function(Call& call) {
  if (!call.host_entry) return;
  Entry& entry = entries[call.host_entry];
  // A capture that another thread began meanwhile: it may be in a graph now, and nobody can tell. It stays.
  if (strcmp(call.driver->operation, "cuLaunchHostFunc") == 0 && any_capture_begun()) return;
  if (!call.succeeded()) finish(entry, kRan);  // it never will
  finish(entry, kReturned);
}

}  // namespace diogenes::agent
