#include "agent/core/calls/arguments.h"

#include "agent/core/calls/driver_calls.h"
#include "agent/core/memory/copy.h"
#include "agent/core/pass_through.h"
#include "base/range.h"
#include "driver/cuda_types.h"

namespace diogenes::agent {

namespace {

Direction direction_by_types(CUmemorytype source, CUmemorytype destination) {
  bool from_host = source == CU_MEMORYTYPE_HOST, to_host = destination == CU_MEMORYTYPE_HOST;
  if (source == CU_MEMORYTYPE_UNIFIED || destination == CU_MEMORYTYPE_UNIFIED) return Direction::unknown;
  return from_host ? (to_host ? Direction::host_to_host : Direction::host_to_device)
                   : (to_host ? Direction::device_to_host : Direction::device_to_device);
}

void read_2d(const CUDA_MEMCPY2D& copy, TransferArguments& transfer) {
  transfer.direction = direction_by_types(copy.srcMemoryType, copy.dstMemoryType);
  transfer.width = copy.WidthInBytes;
  transfer.height = copy.Height;
  transfer.source_pitch = copy.srcPitch ? copy.srcPitch : copy.WidthInBytes;
  transfer.destination_pitch = copy.dstPitch ? copy.dstPitch : copy.WidthInBytes;
  auto base = [](CUmemorytype type, const void* host, CUdeviceptr device) {
    return type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(host) : static_cast<uint64_t>(device);
  };
  transfer.source = base(copy.srcMemoryType, copy.srcHost, copy.srcDevice) +
                    copy.srcY * transfer.source_pitch + copy.srcXInBytes;
  transfer.destination = base(copy.dstMemoryType, copy.dstHost, copy.dstDevice) +
                         copy.dstY * transfer.destination_pitch + copy.dstXInBytes;
  transfer.decoded = copy.srcMemoryType != CU_MEMORYTYPE_ARRAY && copy.dstMemoryType != CU_MEMORYTYPE_ARRAY;
}

void read_copy(uint64_t destination, uint64_t source, uint64_t bytes, TransferArguments& transfer) {
  transfer.destination = destination;
  transfer.source = source;
  transfer.width = bytes;
  transfer.decoded = true;
}

// The driver's whole allocation that holds a managed variable: a module's variables share it, and each is
// looked up. Where the driver does not know it, the pages that the variable lies in.
AddressRange block_of(uint64_t address, const uint64_t* known_bytes) {
  CUdeviceptr begin = 0;
  size_t bytes = 0;
  PassThrough pass;
  if (driver_calls.mem_get_address_range &&
      driver_calls.mem_get_address_range(&begin, &bytes, address) == CUDA_SUCCESS)
    return AddressRange::of(begin, bytes);
  return AddressRange::of(address, known_bytes ? *known_bytes : 1).pages();
}

}  // namespace

uint64_t element_bytes(const DriverFunction& fill) {
  return fill.has(Trait::elements_of_4) ? 4 : fill.has(Trait::elements_of_2) ? 2 : 1;
}

bool read_transfer(const Call& call, TransferArguments* out) {
  TransferArguments& transfer = *out;
  transfer = {};
  transfer.direction = call.driver->direction;
  switch (call.driver->arguments) {
    case Arguments::copy:
      read_copy(call.argument(0), call.argument(1), call.argument(2), transfer);
      return true;
    case Arguments::copy_peer:
      read_copy(call.argument(0), call.argument(2), call.argument(4), transfer);
      return true;
    case Arguments::copy_2d:
      if (CUDA_MEMCPY2D copy; copy_if_there(&copy, call.pointer<const void*>(0), sizeof copy))
        read_2d(copy, transfer);
      return true;
    case Arguments::copy_from_array:
      transfer.destination = call.argument(0);
      transfer.width = call.argument(3);
      return true;
    case Arguments::copy_to_array:
      transfer.source = call.argument(2);
      transfer.width = call.argument(3);
      return true;
    case Arguments::fill:
      transfer.fill = transfer.decoded = true;
      transfer.destination = call.argument(0);
      transfer.width = call.argument(2) * element_bytes(*call.driver);
      return true;
    case Arguments::fill_2d:
      transfer.fill = transfer.decoded = true;
      transfer.destination = call.argument(0);
      transfer.destination_pitch = call.argument(1);
      transfer.width = call.argument(3) * element_bytes(*call.driver);
      transfer.height = call.argument(4);
      return true;
    default:
      return call.driver->role == Role::transfer;
  }
}

bool read_allocation(const Call& call, AllocationArguments* out) {
  AllocationArguments& allocation = *out;
  allocation = {};
  switch (call.driver->arguments) {
    case Arguments::allocate:
    case Arguments::allocate_flags:
      allocation.bytes = call.argument(1);
      break;
    case Arguments::allocate_pitch:
      if (call.succeeded()) allocation.bytes = *call.pointer<const size_t*>(1) * call.argument(3);
      break;
    case Arguments::release:
    case Arguments::unregister_host:
      allocation.released = true;
      allocation.address = call.argument(0);
      break;
    case Arguments::global: {
      // A __managed__ variable is memory that the host reaches, as if it had been allocated where it is
      // looked up.
      auto *address = call.pointer<const uint64_t*>(0), *bytes = call.pointer<const uint64_t*>(1);
      if (!call.succeeded() || !address || kind_of_pointer(*address) != MemoryKind::managed) return false;
      const AddressRange block = block_of(*address, bytes);
      allocation = {MemoryKind::managed, false, block.begin, block.size()};
      return true;
    }
    case Arguments::register_host:
      allocation.kind = MemoryKind::registered;
      allocation.address = call.argument(0);
      allocation.bytes = call.argument(1);
      return true;
    default:
      return false;
  }
  if (call.driver->has(Trait::managed))
    allocation.kind = MemoryKind::managed;
  else if (call.driver->has(Trait::registered))
    allocation.kind = MemoryKind::registered;
  else if (call.driver->has(Trait::pinned))
    allocation.kind = MemoryKind::pinned;
  else
    allocation.kind = MemoryKind::device;
  if (!allocation.released && call.succeeded())
    if (auto* address = call.pointer<const uint64_t*>(0)) allocation.address = *address;
  return true;
}

bool read_stream(const Call& call, uint64_t* handle, bool* per_thread) {
  *per_thread = false;
  switch (call.driver->stream_of) {
    case StreamOf::legacy:
      *handle = 0;
      return true;
    case StreamOf::per_thread:
      *handle = 0;
      *per_thread = true;
      return true;
    case StreamOf::argument:
    case StreamOf::argument_ptsz:
      *handle = call.argument(call.driver->stream_argument);
      *per_thread = call.driver->stream_of == StreamOf::argument_ptsz;
      break;
    case StreamOf::configuration: {
      CUlaunchConfig configuration;
      if (!copy_if_there(&configuration, call.pointer<const void*>(0), sizeof configuration)) return false;
      *handle = reinterpret_cast<uint64_t>(configuration.hStream);
      *per_thread = call.driver->has(Trait::per_thread_default);
      break;
    }
    default:
      return false;
  }
  // The two reserved handles say which default stream is meant whatever the function.
  if (*handle == 1 || *handle == 2) {
    *per_thread = *handle == 2;
    *handle = 0;
  } else if (*handle != 0) {
    *per_thread = false;
  }
  return true;
}

uint32_t launched_blocks(const Call& call) {
  uint64_t grid[3] = {};
  if (call.driver->arguments == Arguments::launch ||
      call.driver->arguments == Arguments::launch_cooperative) {
    for (int i = 0; i < 3; ++i) grid[i] = static_cast<uint32_t>(call.argument(1 + i));
  } else if (call.driver->arguments == Arguments::launch_ex) {
    auto* configuration = call.pointer<const CUlaunchConfig*>(0);
    if (!configuration) return 0;
    grid[0] = configuration->gridDimX;
    grid[1] = configuration->gridDimY;
    grid[2] = configuration->gridDimZ;
  }
  constexpr uint64_t kMost = UINT32_MAX;
  uint64_t rows = grid[1] * grid[2];
  return static_cast<uint32_t>(rows != 0 && grid[0] > kMost / rows ? kMost : grid[0] * rows);
}

MemoryKind kind_of_pointer(uint64_t address) {
  auto ask = driver_calls.pointer_get_attribute;
  if (address == 0 || !ask) return MemoryKind::unknown;
  PassThrough pass;
  unsigned type = 0;
  if (ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS) return MemoryKind::pageable;
  unsigned managed = 0;
  if (ask(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == CUDA_SUCCESS && managed)
    return MemoryKind::managed;
  return type == CU_MEMORYTYPE_HOST ? MemoryKind::pinned : MemoryKind::device;
}

}  // namespace diogenes::agent
