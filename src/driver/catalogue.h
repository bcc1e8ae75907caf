// What is known of the CUDA driver's functions: one line each in catalogue.def, from which the hook table,
// the names in reports, the simulator's check of its exports and the tests come. Source: the CUDA driver API
// reference; which of them wait is measured (facts: docs/driver-facts.md), never assumed here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/index.h"

namespace diogenes {

// What a call does to the order of work and to memory.
enum class Role : uint8_t {
  synchronize,   // explicit wait for a context, stream or event
  query,         // asks whether a stream or event is complete
  transfer,      // copies data
  fill,          // cuMemset*
  allocate,      // device, host, managed, stream-ordered
  release,       // the reverse
  registration,  // cuMemHostRegister / Unregister
  mapping,       // virtual memory management, advice, attach, pools, device pointers of host memory
  prefetch,      // cuMemPrefetch*
  module,        // cuModule*/cuLibrary*/cuLink* load and unload
  launch,        // kernels
  graph,         // graph building, instantiation, destruction
  graph_launch,  // cuGraphLaunch
  stream,        // create, destroy, attributes
  event,         // create, destroy
  event_record,
  stream_wait,    // cuStreamWaitEvent, cuStreamWaitValue*, cuStreamWriteValue*, batch mem ops
  capture,        // begin, end, status of stream capture
  host_function,  // cuLaunchHostFunc, cuStreamAddCallback
  context,        // create, destroy, switch
  initialize,     // cuInit, cuGetProcAddress, cuGetExportTable
  profiler,       // cuProfilerStart, cuProfilerStop
};

// How the arguments of a call are read. Numbers are argument positions, from 0.
enum class Arguments : uint8_t {
  none,                // nothing to read beyond the stream
  copy,                // dst 0, src 1, bytes 2
  copy_peer,           // dst 0, dst context 1, src 2, src context 3, bytes 4
  copy_from_array,     // dst 0 (host or device), array 1, offset 2, bytes 3
  copy_to_array,       // array 0, offset 1, src 2, bytes 3
  copy_array,          // dst array 0, offset 1, src array 2, offset 3, bytes 4
  copy_2d,             // const CUDA_MEMCPY2D* 0
  copy_3d,             // const CUDA_MEMCPY3D* 0
  copy_3d_peer,        // const CUDA_MEMCPY3D_PEER* 0
  copy_batch,          // cuMemcpyBatchAsync and relatives: not decoded, counted
  fill,                // dst 0, value 1, elements 2
  fill_2d,             // dst 0, pitch 1, value 2, width 3, height 4
  allocate,            // void** 0, bytes 1
  allocate_pitch,      // CUdeviceptr* 0, size_t* pitch 1, width 2, height 3, element 4
  allocate_flags,      // void** 0, bytes 1, flags 2 (cuMemHostAlloc, cuMemAllocManaged)
  release,             // pointer 0
  register_host,       // pointer 0, bytes 1, flags 2
  unregister_host,     // pointer 0
  host_pointer,        // cuMemHostGetDevicePointer: CUdeviceptr* 0, host pointer 1
  launch,              // function 0, grid 1-3, block 4-6, shared 7, stream 8, params 9, extra 10
  launch_ex,           // const CUlaunchConfig* 0, function 1, params 2, extra 3
  launch_cooperative,  // function 0, grid 1-3, block 4-6, shared 7, stream 8, params 9
  launch_list,     // cuLaunchCooperativeKernelMultiDevice, cuLaunchGrid*, cuLaunch: work on unknown streams
  graph_launch,    // graph exec 0, stream 1
  event,           // event 0
  event_record,    // event 0, stream 1
  stream_wait,     // stream 0, event 1
  stream,          // stream 0
  stream_destroy,  // stream 0
  stream_create,   // CUstream* 0, flags 1 (priority 2 for cuStreamCreateWithPriority)
  event_create,    // CUevent* 0, flags 1
  elapsed_time,    // float* 0, first event 1, second event 2: fails unless both are complete
  module_load,     // nothing to read; it waits for the context's blocking streams
  module_unload,   // nothing to read; it waits for the whole context
  context,         // context 0
  context_create,  // CUcontext* 0
  prefetch,        // pointer 0, bytes 1
  global,  // CUdeviceptr* 0, size_t* bytes 1: the address of a module's variable, which may be managed
};

// Which stream orders the call's work.
enum class StreamOf : uint8_t {
  none,           // no GPU work, or ordered by the whole context
  context,        // waits for, or is ordered after, the whole context
  legacy,         // the legacy default stream
  per_thread,     // the calling thread's default stream
  argument,       // the argument at stream_argument; null means the legacy default stream
  argument_ptsz,  // the same; null means the calling thread's default stream
  event,          // the stream in which the event argument was last recorded
  configuration,  // hStream of the CUlaunchConfig at argument 0
};

enum class Direction : uint8_t { unknown, host_to_device, device_to_host, device_to_device, host_to_host };

// What else code asks about a function; no code compares names.
enum class Trait : uint64_t {
  none = 0,
  initializes = 1ull << 0,      // cuInit
  destroys = 1ull << 1,         // a stream, an event, an executable graph
  ends_context = 1ull << 2,     // and with it all that lives there
  managed = 1ull << 3,          // allocates managed memory
  pinned = 1ull << 4,           // allocates or releases pinned memory
  registered = 1ull << 5,       // ends a registration
  elements_of_2 = 1ull << 6,    // a fill's elements have 2 bytes; neither: 1
  elements_of_4 = 1ull << 7,    // ... 4 bytes
  shares = 1ull << 8,           // memory is shared with other processes or devices from now on
  unlisted_memory = 1ull << 9,  // kernels reach memory by handles, or at addresses that no allocation gave
  foreign_memory = 1ull << 10,  // hands memory to and from a graphics interface
  may_be_on_host = 1ull << 11,  // makes memory whose place its properties say
  moves_pages = 1ull << 12,     // of managed memory
  unloads = 1ull << 13,         // modules
  begins_capture = 1ull << 14,
  ends_capture = 1ull << 15,
  hides_records = 1ull << 16,  // events may be recorded by a graph later
  instantiates = 1ull << 17,   // a graph
  updates_graph = 1ull << 18,  // an executable graph gets another graph's nodes
  sets_node = 1ull << 19,      // one node of an executable graph gets other parameters
  kernel_node = 1ull << 20,
  copy_node = 1ull << 21,
  fill_node = 1ull << 22,
  flags_argument = 1ull << 23,       // instantiation: flags are argument 2
  parameter_structure = 1ull << 24,  // ... in the structure at argument 2
  semaphores = 1ull << 25,           // external ones
  writes_value = 1ull << 26,         // a stream writes a value: address 1, value 2
  waits_for_value = 1ull << 27,      // a stream waits for a value: address 1, value 2
  value_of_8 = 1ull << 28,           // the value has 8 bytes; else 4
  batch_of_values = 1ull << 29,
  record_flags = 1ull << 30,        // an event record with flags: argument 2
  per_thread_default = 1ull << 31,  // a null stream means the calling thread's default stream
  image_argument = 1ull << 32,      // loads the code at argument 1
  begins_profiling = 1ull << 33,    // of the run that is worth a look
  ends_profiling = 1ull << 34,
};
constexpr Trait operator|(Trait one, Trait other) {
  return static_cast<Trait>(static_cast<uint64_t>(one) | static_cast<uint64_t>(other));
}

struct DriverFunction {
  const char* symbol;     // as exported: "cuMemcpyHtoD_v2_ptds"
  const char* operation;  // as reported: "cuMemcpyHtoD"
  Role role;
  Arguments arguments;
  StreamOf stream_of;
  int8_t stream_argument;  // position, or -1
  Direction direction;     // as the name says it; unknown: by the pointers (cuMemcpy, 2D, 3D)
  bool asynchronous;       // the name ends in Async
  Trait traits;

  constexpr bool has(Trait trait) const {
    return (static_cast<uint64_t>(traits) & static_cast<uint64_t>(trait)) != 0;
  }
};

// Does a call give the GPU work?
constexpr bool gives_work(const DriverFunction& driver) {
  switch (driver.role) {
    case Role::launch:
    case Role::transfer:
    case Role::fill:
    case Role::graph_launch:
    case Role::host_function:
    case Role::prefetch:
      return true;
    case Role::stream_wait:
      return driver.arguments != Arguments::stream_wait && driver.stream_of != StreamOf::context;
    case Role::allocate:
    case Role::release:
    case Role::mapping:
    case Role::graph:
      return driver.stream_argument >= 0;  // stream-ordered
    default:
      return false;
  }
}

// cuMemFree: not ordered by a stream, so that it waits for all that may be using the memory.
constexpr bool releases_device_memory(const DriverFunction& driver) {
  return driver.role == Role::release && driver.arguments == Arguments::release &&
         driver.stream_argument < 0 && !driver.has(Trait::pinned) && !driver.has(Trait::registered);
}

inline constexpr DriverFunction kCatalogue[] = {
#define DRIVER_FUNCTION(symbol, operation, role, arguments, stream_of, stream_argument, direction, \
                        asynchronous, traits)                                                      \
  {#symbol,                                                                                        \
   #operation,                                                                                     \
   Role::role,                                                                                     \
   Arguments::arguments,                                                                           \
   StreamOf::stream_of,                                                                            \
   stream_argument,                                                                                \
   Direction::direction,                                                                           \
   asynchronous,                                                                                   \
   [] {                                                                                            \
     using enum Trait;                                                                             \
     return traits;                                                                                \
   }()},
#include "driver/catalogue.def"
#undef DRIVER_FUNCTION
};
inline constexpr size_t kCatalogueSize = sizeof kCatalogue / sizeof kCatalogue[0];

// Beside the catalogue's, three more hook identities, which are no exported function.
inline constexpr uint16_t kWaitFunction = 0xfff0;       // the driver's internal wait function
inline constexpr uint16_t kQueueWaitFunction = 0xfff1;  // the one in which a full launch queue waits
inline constexpr uint16_t kNoFunction = 0xffff;

constexpr const DriverFunction* driver_function(uint16_t index) {
  return index < kCatalogueSize ? &kCatalogue[index] : nullptr;
}

// Linear; for start-up and tests, not for hot paths.
constexpr uint16_t find_driver_function(std::string_view symbol) {
  for (size_t i = 0; i < kCatalogueSize; ++i)
    if (symbol == kCatalogue[i].symbol) return static_cast<uint16_t>(i);
  return kNoFunction;
}

}  // namespace diogenes
