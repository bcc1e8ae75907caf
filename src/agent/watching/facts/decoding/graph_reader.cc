// Asks the driver what the nodes of a graph are. Under capture nothing is asked, and such a graph may do
// anything.
#include <sys/mman.h>

#include "agent/core/calls/driver_calls.h"
#include "agent/core/pass_through.h"
#include "agent/watching/facts/content/found_addresses.h"
#include "agent/watching/facts/decoding/graph_operands.h"
#include "agent/watching/facts/facts_state.h"
#include "driver/cuda_types.h"

namespace diogenes::agent::facts {

namespace {

constexpr size_t kMaximumNodes = 1 << 16;
constexpr int kDeepest = 4;  // graphs in graphs

void read_kernel(const CUDA_KERNEL_NODE_PARAMS_v2& kernel, GraphContent& content) {
  KernelAddresses given;
  given.clear();
  uint64_t function = reinterpret_cast<uint64_t>(kernel.func ? static_cast<void*>(kernel.func)
                                                             : static_cast<void*>(kernel.kern));
  state().kernels.scan(function, kernel.kernelParams, kernel.extra, known_memory(), true, given);
  content.kernels = true;
  content.kernel_addresses.unknown |= given.unknown;
  if (given.unknown) content.unknown();
  int known = 0;
  LockGuard guard(state().lock);
  for (int i = 0; i < given.count; ++i) {
    // By its allocation, so that a graph of many kernels on little memory fits.
    if (const Allocation* allocation = state().memory.near(given.address[i])) {
      content.add_word(allocation->range.begin);
      ++known;
    } else if (state().memory.device_bounds().contain(given.address[i])) {
      content.add_word(given.address[i]);
    }
  }
  // What a kernel without memory works on is not known.
  if (known == 0) content.flags |= kAnyDevice | kAnyHost;
}

AddressRange transfer_operand(CUmemorytype type, const void* host, CUdeviceptr device, size_t x, size_t y,
                              size_t pitch, const CUDA_MEMCPY3D& copy) {
  if (pitch == 0) pitch = copy.WidthInBytes;
  uint64_t base = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(host) : device;
  uint64_t rows = copy.Height == 0 ? 1 : copy.Height;
  return AddressRange::of(base + y * pitch + x, pitch * (rows - 1) + copy.WidthInBytes);
}

void read_copy(const CUDA_MEMCPY3D& copy, GraphContent& content) {
  bool arrays = copy.srcMemoryType == CU_MEMORYTYPE_ARRAY || copy.dstMemoryType == CU_MEMORYTYPE_ARRAY;
  if (arrays || copy.Depth > 1 || copy.srcZ != 0 || copy.dstZ != 0) {
    content.unknown();
    return;
  }
  content.add_copy({transfer_operand(copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstXInBytes,
                                     copy.dstY, copy.dstPitch, copy),
                    transfer_operand(copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcXInBytes,
                                     copy.srcY, copy.srcPitch, copy),
                    copy.dstMemoryType == CU_MEMORYTYPE_HOST, copy.srcMemoryType == CU_MEMORYTYPE_HOST});
}

void read_fill(const CUDA_MEMSET_NODE_PARAMS& fill, GraphContent& content) {
  uint64_t rows = fill.height == 0 ? 1 : fill.height;
  uint64_t width = fill.width * fill.elementSize;
  content.add_copy({AddressRange::of(fill.dst, fill.pitch * (rows - 1) + width), {}, false, false});
}

void read_graph(CUgraph graph, int depth, GraphContent& content);

void read_node(CUgraphNode node, int depth, GraphContent& content) {
  CUgraphNodeType type{};
  auto got = [](auto* function, auto... arguments) {
    PassThrough pass;
    return function && function(arguments...) == CUDA_SUCCESS;
  };
  if (!got(driver_calls.graph_node_get_type, node, &type)) return content.unknown();
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
      if (!got(driver_calls.graph_kernel_node_get_params, node, &kernel)) return content.unknown();
      read_kernel(kernel, content);
      CUlaunchAttributeValue value{};
      if (got(driver_calls.graph_kernel_node_get_attribute, node,
              CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value) &&
          value.deviceUpdatableKernelNode.deviceUpdatable != 0)
        content.unknown();
      return;
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
      CUDA_MEMCPY3D copy{};
      if (!got(driver_calls.graph_memcpy_node_get_params, node, &copy)) return content.unknown();
      return read_copy(copy, content);
    }
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      CUDA_MEMSET_NODE_PARAMS fill{};
      if (!got(driver_calls.graph_memset_node_get_params, node, &fill)) return content.unknown();
      return read_fill(fill, content);
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      content.flags |= kAnyDevice | kAnyHost | kAnyPageable | kRunsOnHost;
      return;
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      CUgraph child = nullptr;
      if (!got(driver_calls.graph_child_node_get_graph, node, &child)) return content.unknown();
      return read_graph(child, depth + 1, content);
    }
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:  // more order than is counted on
      return;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:  // said by the call that made it (kHidesRecords)
      return;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      // Its memory may be used by other work, too, and where it lies is not followed.
      LockGuard guard(state().lock);
      state().unlisted_memory = true;
      content.flags |= kAnyDevice;
      return;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      content.flags |= kAnyDevice;
      return;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      content.unknown();
      return;
    default:  // operations on memory in batches, conditional nodes, and what is to come
      return content.unknown();
  }
}

void read_graph(CUgraph graph, int depth, GraphContent& content) {
  size_t count = 0;
  auto ask = [graph, &count](CUgraphNode* nodes) {
    PassThrough pass;
    return driver_calls.graph_get_nodes && driver_calls.graph_get_nodes(graph, nodes, &count) == CUDA_SUCCESS;
  };
  if (depth > kDeepest || !ask(nullptr) || count > kMaximumNodes) return content.unknown();
  if (count == 0) return;
  size_t bytes = count * sizeof(CUgraphNode);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return content.unknown();
  auto* nodes = static_cast<CUgraphNode*>(memory);
  size_t room = count;
  if (ask(nodes) && count <= room)
    for (size_t i = 0; i < count; ++i) read_node(nodes[i], depth, content);
  else
    content.unknown();
  munmap(memory, bytes);
}

void read_executable(uint64_t executable, uint64_t graph, bool launched_by_device) {
  GraphContent* content;
  {
    LockGuard guard(state().lock);
    state().graphs.forget(executable);
    content = state().captures == 0 ? state().graphs.reserve() : nullptr;
  }
  if (!content) return;
  if (launched_by_device) content->unknown();
  read_graph(reinterpret_cast<CUgraph>(graph), 0, *content);
  LockGuard guard(state().lock);
  state().graphs.put(content, executable);
}

// One node of an executable graph gets other parameters.
void read_new_parameters(const Call& call) {
  GraphContent* content;
  {
    LockGuard guard(state().lock);
    content = state().graphs.find(call.argument(0));
  }
  // A program does not launch, destroy or change one graph in two threads at the same time.
  if (!content) return;
  if (state().captures != 0) {
    content->unknown();
  } else if (call.driver->has(Trait::kernel_node)) {
    CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
    auto* given = call.pointer<const CUDA_KERNEL_NODE_PARAMS_v2*>(2);
    kernel.func = given->func, kernel.kernelParams = given->kernelParams, kernel.extra = given->extra;
    if (!kernel.func)
      kernel.kern = given->kern;  // the first version of the structure has none, but a function
    read_kernel(kernel, *content);
  } else if (call.driver->has(Trait::copy_node)) {
    read_copy(*call.pointer<const CUDA_MEMCPY3D*>(2), *content);
  } else if (call.driver->has(Trait::fill_node)) {
    read_fill(*call.pointer<const CUDA_MEMSET_NODE_PARAMS*>(2), *content);
  } else {
    content->unknown();
  }
}

}  // namespace

void after_graph_call(const Call& call) {
  if (call.driver->has(Trait::instantiates)) {
    auto* executable = call.pointer<const uint64_t*>(0);
    bool by_device = call.driver->has(Trait::flags_argument) &&
                     (call.argument(2) & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0;
    if (call.driver->has(Trait::parameter_structure))
      if (auto* parameters = call.pointer<const CUDA_GRAPH_INSTANTIATE_PARAMS*>(2))
        by_device = (parameters->flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0;
    if (executable) read_executable(*executable, call.argument(1), by_device);
  } else if (call.driver->has(Trait::updates_graph)) {
    read_executable(call.argument(0), call.argument(1), false);
  } else if (call.driver->has(Trait::sets_node)) {
    read_new_parameters(call);
  }
}

void before_graph_call(const Call& call) {
  if (!call.driver->has(Trait::destroys)) return;
  LockGuard guard(state().lock);
  state().graphs.forget(call.argument(0));
}

}  // namespace diogenes::agent::facts
