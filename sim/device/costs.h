// What calls and transfers cost: the one table of times in the simulator. Source: the figures measured on an
// H200 with driver 580.159.04 (docs/driver-facts.md); entries marked 'assumed' were not measured, and are of
// the size of a neighbour.
#pragma once
#include <cstddef>
#include <cstdint>

namespace diogenes::sim {

enum class HostMemory : uint8_t { pageable, pinned };
enum class CopyDirection : uint8_t { host_to_device, device_to_host };

// CPU time of a call, without what it waits for.
inline constexpr int64_t kLaunchCost = 3500;
inline constexpr int64_t kSynchronizeCost = 300;  // idle cuCtxSynchronize
inline constexpr int64_t kAllocateCost = 32000;   // cuMemAlloc + cuMemFree of 4 KiB: 62 us; of 8 MiB: 64 us
inline constexpr int64_t kFreeCost = 30000;
inline constexpr int64_t kHostAllocateCost = 60000;  // assumed, and the next four
inline constexpr int64_t kHostFreeCost = 40000;
inline constexpr int64_t kRegisterCost = 20000;
inline constexpr int64_t kAsyncAllocateCost = 1500;
inline constexpr int64_t kModuleCost = 100000;
inline constexpr int64_t kSubmitCost = 3000;      // assumed: handing a copy or fill to the device
inline constexpr int64_t kEventRecordCost = 400;  // H100: 300 in a non-blocking stream, 500 in the legacy one
inline constexpr int64_t kWriteValueCost = 1300;  // H100
inline constexpr int64_t kStreamCreateCost = 8000;  // assumed
inline constexpr int64_t kEventCreateCost = 400;    // assumed
inline constexpr int64_t kQueryCost = 350;          // H100; 1,700 of the legacy stream at rest
inline constexpr int64_t kGraphLaunchCost = 5000;   // assumed

// Launch + cuCtxSynchronize takes 8.8 us in all: what is not the two calls passes between launch and
// completion.
inline constexpr int64_t kLaunchLatency =
    2500;  // from the call's end to the first instruction, on an idle device
inline constexpr int64_t kShortestKernel = 2000;

inline constexpr size_t kLaunchQueue = 1000;  // launches that a stream holds before a launch waits
inline constexpr size_t kPageableAtOnce =
    64 * 1024;  // largest asynchronous pageable host-to-device copy that does not
                // wait; measured: 4 KiB does not, 64 MiB does

// A blocking copy between host and device, from call to return, with an idle device: an H200's, and no less
// than the modelled link needs.
int64_t copy_call_ns(CopyDirection direction, HostMemory memory, size_t bytes);
// The part of it in which a copy engine is busy.
int64_t copy_engine_ns(CopyDirection direction, HostMemory memory, size_t bytes);
// Copies and fills inside device memory.
int64_t device_copy_ns(size_t bytes);
// How long the simulator itself needs to move so many bytes, at most: its work starts that much before the
// modelled end.
int64_t simulation_ns(size_t bytes);

}  // namespace diogenes::sim
