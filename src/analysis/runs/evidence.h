// What the judges say of an operation: why a synchronization was needed, what a verdict rests on, which
// transfer repeats which, and what nobody used.
#pragma once
#include <cstdint>

namespace diogenes {

// Why a synchronization was needed (docs/necessity.md), one bit each.
enum Reason : uint32_t {
  kCpuAccess = 1u << 0,       // 1: the CPU touched data that the covered work wrote
  kSourceReuse = 1u << 1,     // 1: the CPU wrote data that the covered work read
  kSystemCall = 1u << 2,      // 2: a system call took the range
  kDeviceReuse = 1u << 3,     // 1: the data went to a GPU again, from host memory for one
  kOrder = 1u << 4,           // 3: it ordered GPU work that no stream or event orders
  kSharedMemory = 1u << 5,    // 2: other processes or devices reach the range
  kSmallRange = 1u << 6,      // 4: smaller than a page (stack, globals, heap), and no watchpoint for it
  kExposed = 1u << 7,         // 4: the page stood open for a while
  kGuardRefused = 1u << 8,    // 4: no guard could be placed (limit, mprotect, device reads page tables)
  kUndecoded = 1u << 9,       // 4: covers work whose destination is not known (batches, arrays, graphs)
  kDriverAccess = 1u << 10,   // 4: the driver itself touched the range
  kHostFunction = 1u << 11,   // 2: the stream runs a host function: data leaves our sight
  kUnresolved = 1u << 12,     // the program ended before it was known
  kUnknownMemory = 1u << 13,  // 4: managed or mapped memory that the agent does not know enough of
  kOwnWork =
      1u << 14,  // the call waits for what it does itself (context creation, a module's load): no verdict
  kOtherThread =
      1u << 15,  // 1: another thread used the data, or may have: the wait stays before the hand-over
  kLetsGo =
      1u << 16,  // 3: work that was given before the wait, and that the CPU let go on after it, needs it
  kOverBudget = 1u << 17,  // 4: not watched, to keep within --max-overhead
  kReleased =
      1u << 18,  // 1: registered memory was released unread, to be given out again within the GPU's reach
};
// Those whose first use is at a known time on the CPU: the wait can be moved there.
inline constexpr uint32_t kMovableReasons = kCpuAccess | kSourceReuse | kSystemCall | kDeviceReuse;
inline constexpr bool is_movable(uint32_t reasons) {
  return reasons != 0 && (reasons & ~kMovableReasons) == 0;
}
inline constexpr uint32_t kUnwatchedReasons = kSmallRange | kExposed | kGuardRefused | kUndecoded |
                                              kDriverAccess | kUnresolved | kUnknownMemory | kOverBudget;

// Nothing else is known of it than that it was not looked at.
inline constexpr bool is_left_out(uint32_t reasons) {
  return (reasons & kOverBudget) != 0 && (reasons & ~uint32_t{kOverBudget | kOtherThread}) == 0;
}

// Counts as needed because nobody saw whether it was.
inline constexpr bool is_not_judged(uint32_t reasons) {
  return is_left_out(reasons) || (reasons != 0 && (reasons & ~kUnwatchedReasons) == 0);
}

// What a verdict rests on beside what was seen, one bit each. It says nothing against the verdict.
enum Condition : uint8_t {
  kConditionArguments = 1u << 0,  // kernels reach memory only through their arguments: not what GPU work that
                                  // nothing else orders uses, nor memory that no call gives to the GPU
  kConditionInUse = 1u << 1,   // of a release: an asynchronous copy that was not known to be done still read
                               // or wrote the memory
  kConditionPrints = 1u << 2,  // what kernels printed came out in this call
  kConditionNewMemory =
      1u << 3,  // memory is allocated anew each time: where it is kept and used again, the wait is needed
  kConditionOneStream =
      1u << 4,  // needed, but only for one stream: to which its thread gave work last, or (of a copy to the
                // host) whose work wrote what it brings
  kConditionOnlyOrders = 1u << 5,  // needed, but only by GPU work that its thread gave later
};

enum class Duplicate : uint8_t {
  none,
  verified,  // the destination held the content already, from an earlier copy
  // To the device only, where the destination did not hold it:
  elsewhere,      // sent before to another place of the same context's device memory
  returned,       // came from the device to this very place of host memory, and goes back unchanged
  returned_held,  // the same, and the destination, from which it came, still held it
};

// All that a transfer sent to the device is one value, over and over.
enum class Constant : uint8_t {
  no,
  zero,
  bytes,  // of one byte: cudaMemset writes it
  words,  // of 2 or 4 bytes: cuMemsetD16 and cuMemsetD32 do
};

// Nothing can have used what an operation made: a transfer's data, or (where the operation is an allocation)
// the memory.
enum class Unused : uint8_t {
  no,
  overwritten,  // a later transfer or fill wrote all of it first
  released,     // its memory was released first
};

}  // namespace diogenes
