// Calls known to wait for the GPU (docs/driver-facts.md), one row each: what to prepare, the call, on which
// stream the kernel is held. And some that return at once, so that the evidence shows that the method tells
// the two apart.
#pragma once
#include <span>

#include "driver/discovery/driver_session.h"

namespace diogenes {

// What the rows work on. Allocated once, before anything is held.
struct CallMaterial {
  DriverSession* driver = nullptr;
  CUstream stream = nullptr;        // ordered with the default stream
  CUstream non_blocking = nullptr;  // not
  CUevent spinning = nullptr, blocking = nullptr;
  CUdeviceptr device = 0, managed = 0;
  char* pageable = nullptr;
  char* pinned = nullptr;
  // Of one row, from its prepare to its call.
  CUdeviceptr allocation = 0;
  void* host = nullptr;
  CUmodule module = nullptr;

  static Result<CallMaterial> allocate(DriverSession* driver);
};

enum class HeldOn : uint8_t { default_stream, stream, non_blocking_stream };

struct WaitingCall {
  const char* name;
  bool waits;  // as measured; a row that behaves otherwise is reported as it behaved
  HeldOn held_on;
  bool (*available)(const DriverApi&);
  CUresult (*prepare)(CallMaterial&);   // before the kernel; may be null
  CUresult (*launched)(CallMaterial&);  // behind the kernel, on the launching thread; may be null
  CUresult (*call)(CallMaterial&);
  void (*clean)(CallMaterial&);  // after the release; may be null
};

std::span<const WaitingCall> waiting_calls_table();
CUstream stream_of(const CallMaterial& material, HeldOn held_on);

}  // namespace diogenes
