// Asks the driver what the nodes of a graph are. Under capture nothing is asked, and such a graph may do
// anything.
#include <sys/mman.h>

#include "agent/driver_calls.h"
#include "agent/necessity/graphs.h"
#include "agent/necessity/state.h"
#include "agent/pass_through.h"
#include "driver/cuda_abi.h"

namespace diogenes::agent {

namespace {

constexpr size_t kMaximumNodes = 1 << 16;
constexpr int kDeepest = 4;  // graphs in graphs

void read_kernel(State& state, const CUDA_KERNEL_NODE_PARAMS_v2& kernel, GraphEffects& effects) {
  GivenAddresses given;
  given.clear();
  uint64_t function = reinterpret_cast<uint64_t>(kernel.func ? static_cast<void*>(kernel.func)
                                                             : static_cast<void*>(kernel.kern));
  const AddressBounds bounds = bounds_of(state);
  state.kernels.scan(function, kernel.kernelParams, kernel.extra, bounds, true, given);
  effects.kernels = true;
  // What a kernel without memory works on is not known.
  effects.anything |= given.unknown || given.count == 0;
  if (given.unknown) effects.reasons |= kUndecoded;
  LockGuard guard(state.lock);
  for (int i = 0; i < given.count; ++i) {
    // By its allocation, so that a graph of many kernels on little memory fits.
    const Allocation* allocation = allocation_near(state, given.address[i]);
    effects.add_word(allocation ? allocation->range.begin : given.address[i]);
  }
}

AddressRange side_of(CUmemorytype type, const void* host, CUdeviceptr device, size_t x, size_t y,
                     size_t pitch, const CUDA_MEMCPY3D& copy) {
  if (pitch == 0) pitch = copy.WidthInBytes;
  uint64_t base = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(host) : device;
  uint64_t rows = copy.Height == 0 ? 1 : copy.Height;
  return AddressRange::of(base + y * pitch + x, pitch * (rows - 1) + copy.WidthInBytes);
}

void read_copy(const CUDA_MEMCPY3D& copy, GraphEffects& effects) {
  bool arrays = copy.srcMemoryType == CU_MEMORYTYPE_ARRAY || copy.dstMemoryType == CU_MEMORYTYPE_ARRAY;
  if (arrays || copy.Depth > 1 || copy.srcZ != 0 || copy.dstZ != 0) {
    effects.unknown();
    return;
  }
  effects.add_copy({side_of(copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstXInBytes, copy.dstY,
                            copy.dstPitch, copy),
                    side_of(copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcXInBytes, copy.srcY,
                            copy.srcPitch, copy),
                    copy.dstMemoryType == CU_MEMORYTYPE_HOST, copy.srcMemoryType == CU_MEMORYTYPE_HOST});
}

void read_fill(const CUDA_MEMSET_NODE_PARAMS& fill, GraphEffects& effects) {
  uint64_t rows = fill.height == 0 ? 1 : fill.height;
  uint64_t width = fill.width * fill.elementSize;
  effects.add_copy({AddressRange::of(fill.dst, fill.pitch * (rows - 1) + width), {}, false, false});
}

void read_graph(State& state, CUgraph graph, int depth, GraphEffects& effects);

void read_node(State& state, CUgraphNode node, int depth, GraphEffects& effects) {
  CUgraphNodeType type{};
  auto got = [](auto* function, auto... arguments) {
    PassThrough pass;
    return function && function(arguments...) == CUDA_SUCCESS;
  };
  if (!got(driver_calls.graph_node_get_type, node, &type)) return effects.unknown();
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
      if (!got(driver_calls.graph_kernel_node_get_params, node, &kernel)) return effects.unknown();
      read_kernel(state, kernel, effects);
      CUlaunchAttributeValue value{};
      if (got(driver_calls.graph_kernel_node_get_attribute, node,
              CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value) &&
          value.deviceUpdatableKernelNode.deviceUpdatable != 0)
        effects.unknown();
      return;
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
      CUDA_MEMCPY3D copy{};
      if (!got(driver_calls.graph_memcpy_node_get_params, node, &copy)) return effects.unknown();
      return read_copy(copy, effects);
    }
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      CUDA_MEMSET_NODE_PARAMS fill{};
      if (!got(driver_calls.graph_memset_node_get_params, node, &fill)) return effects.unknown();
      return read_fill(fill, effects);
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      effects.anything = true;
      effects.reasons |= kHostFunction;
      return;
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      CUgraph child = nullptr;
      if (!got(driver_calls.graph_child_node_get_graph, node, &child)) return effects.unknown();
      return read_graph(state, child, depth + 1, effects);
    }
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:  // more order than is counted on
      return;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: {
      LockGuard guard(state.lock);
      state.events_undecidable = true;
      return;
    }
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      // Its memory may be used by other work, too, and where it lies is not followed.
      LockGuard guard(state.lock);
      state.unnamed_memory = true;
      effects.anything = true;
      return;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      effects.anything = true;
      return;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      effects.anything = true;
      effects.reasons |= kSharedMemory;
      return;
    default:  // operations on memory in batches, conditional nodes, and what is to come
      return effects.unknown();
  }
}

void read_graph(State& state, CUgraph graph, int depth, GraphEffects& effects) {
  size_t count = 0;
  auto ask = [graph, &count](CUgraphNode* nodes) {
    PassThrough pass;
    return driver_calls.graph_get_nodes && driver_calls.graph_get_nodes(graph, nodes, &count) == CUDA_SUCCESS;
  };
  if (depth > kDeepest || !ask(nullptr) || count > kMaximumNodes) return effects.unknown();
  if (count == 0) return;
  size_t bytes = count * sizeof(CUgraphNode);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return effects.unknown();
  auto* nodes = static_cast<CUgraphNode*>(memory);
  size_t room = count;
  if (ask(nodes) && count <= room)
    for (size_t i = 0; i < count; ++i) read_node(state, nodes[i], depth, effects);
  else
    effects.unknown();
  munmap(memory, bytes);
}

void read_executable(State& state, uint64_t executable, uint64_t graph, bool launched_by_device) {
  GraphEffects* effects;
  {
    LockGuard guard(state.lock);
    state.graphs.forget(executable);
    effects = state.captures == 0 ? state.graphs.reserve() : nullptr;
  }
  if (!effects) return;
  if (launched_by_device) effects->unknown();
  read_graph(state, reinterpret_cast<CUgraph>(graph), 0, *effects);
  LockGuard guard(state.lock);
  state.graphs.give(effects, executable);
}

// One node of an executable graph gets other parameters.
void read_new_parameters(State& state, const Call& call) {
  GraphEffects* effects;
  {
    LockGuard guard(state.lock);
    effects = state.graphs.find(call.argument(0));
  }
  // A program does not launch, destroy or change one graph in two threads at the same time.
  if (!effects) return;
  if (state.captures != 0) {
    effects->unknown();
  } else if (operation_has(call, "ExecKernelNode")) {
    CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
    auto* given = call.pointer<const CUDA_KERNEL_NODE_PARAMS_v2*>(2);
    kernel.func = given->func, kernel.kernelParams = given->kernelParams, kernel.extra = given->extra;
    if (!kernel.func)
      kernel.kern = given->kern;  // the first version of the structure has none, but a function
    read_kernel(state, kernel, *effects);
  } else if (operation_has(call, "ExecMemcpyNode")) {
    read_copy(*call.pointer<const CUDA_MEMCPY3D*>(2), *effects);
  } else if (operation_has(call, "ExecMemsetNode")) {
    read_fill(*call.pointer<const CUDA_MEMSET_NODE_PARAMS*>(2), *effects);
  } else {
    effects->unknown();
  }
}

}  // namespace

void after_graph_call(State& state, const Call& call) {
  if (operation_starts(call, "cuGraphInstantiate")) {
    auto* executable = call.pointer<const uint64_t*>(0);
    bool by_device = operation_has(call, "WithFlags") &&
                     (call.argument(2) & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0;
    if (operation_has(call, "WithParams"))
      if (auto* parameters = call.pointer<const CUDA_GRAPH_INSTANTIATE_PARAMS*>(2))
        by_device = (parameters->flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0;
    if (executable) read_executable(state, *executable, call.argument(1), by_device);
  } else if (operation_starts(call, "cuGraphExecUpdate")) {
    read_executable(state, call.argument(0), call.argument(1), false);
  } else if (operation_starts(call, "cuGraphExec") && !operation_has(call, "Destroy")) {
    read_new_parameters(state, call);
  }
}

void before_graph_call(State& state, const Call& call) {
  if (!operation_starts(call, "cuGraphExecDestroy")) return;
  LockGuard guard(state.lock);
  state.graphs.forget(call.argument(0));
}

}  // namespace diogenes::agent
