// One outermost public call into the driver, as the collectors see it: before it runs and after.
// Lives on the calling thread's stack, inside the thunk's frame; nothing in it outlives the call.
#pragma once
#include <cstdint>

#include "base/units.h"
#include "driver/catalogue.h"
#include "trace/format.h"

namespace diogenes::agent {

// The caller's argument registers and stack, as saved by the thunk (x86_64/thunk.S knows this layout).
struct SavedArguments {
  uint64_t integer[6];       // rdi rsi rdx rcx r8 r9
  const uint64_t* on_stack;  // the seventh integer argument and on

  uint64_t operator[](int position) const {
    return position < 6 ? integer[position] : on_stack[position - 6];
  }
};

struct Call {
  uint16_t function = kNoFunction;
  const DriverFunction* driver = nullptr;  // never null for collectors
  SavedArguments arguments{};
  uint32_t stack = kNoStack;    // StackIndex; taken before the driver runs
  uint64_t site = 0;            // where a plan of corrections may name it (proving/): its key
  OperationId id;               // valid after the operation was appended, so in after() only
  uint32_t pending = 0;         // facts/: what it keeps between before() and after()
  uint32_t host_entry = 0;      // host_functions.h: what it keeps between before and after
  Nanoseconds entered;          // when the program made the call; recording lies between this and begin
  Nanoseconds begin, end;       // end: in after() only
  Nanoseconds waited;           // after() only: inside the wait functions
  Nanoseconds awaited;          // between entered and begin, for the GPU (proving/)
  int32_t result = 0;           // after() only: CUresult
  bool printed = false;         // after() only: what kernels printed came out
  bool not_made = false;        // the driver is not called (proving/); `result` is the call's
  bool made_again = false;      // it failed, and the driver is called once more (proving/)
  uint8_t flags = 0;            // OperationFlag; collectors may add kCapturing
  uint32_t stream = kNoStream;  // numbers as in OperationRecord; filled by the collector of stages 2 to 4
  uint32_t object = 0;

  uint64_t argument(int position) const { return arguments[position]; }
  template <typename T>
  T pointer(int position) const {
    return reinterpret_cast<T>(arguments[position]);
  }
  bool succeeded() const { return result == 0; }
  bool waited_at_all() const { return (flags & kWaited) != 0; }
};

}  // namespace diogenes::agent
