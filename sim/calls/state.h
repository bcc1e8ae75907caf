// How an entry point begins and ends, and what it does with the objects (objects.h). Handles are looked up before they are
// used, so that an unknown one is an error and not a crash.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/clock.h"
#include "device/costs.h"
#include "device/device.h"
#include "late/late.h"
#include "objects.h"

namespace diogenes::sim {

struct ThreadState {
  std::vector<Context*> contexts;                               // the stack; the last is current
  std::vector<std::pair<Context*, StreamPtr>> default_streams;  // per-thread default streams
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  ~ThreadState();
};
ThreadState& thread_state();

// Read at the start of every call.
inline constexpr uint32_t kReady = 0x5d106e5;
inline constexpr uint32_t kForked = 0xf04bed;
extern uint32_t driver_phase;

// The frame of an entry point: is the driver ready, which context is current, and what does the call cost.
class ApiCall {
 public:
  enum Needs { nothing, a_context };
  explicit ApiCall(Needs needs) : begin_ns_(now_ns()) {
    ++late_inside_driver;
    if (late_mode) late_last_call_ns.store(begin_ns_, std::memory_order_relaxed);
    if (__atomic_load_n(&driver_phase, __ATOMIC_ACQUIRE) != kReady)
      error = CUDA_ERROR_NOT_INITIALIZED;
    else if (needs == a_context)
      find_context();
  }
  ~ApiCall() {
    spend();
    --late_inside_driver;
  }
  ApiCall(const ApiCall&) = delete;
  ApiCall& operator=(const ApiCall&) = delete;

  void costs(int64_t ns) { cost_ns_ = ns; }
  // Stays until the cost is used up; at the call's end by itself.
  void spend() {
    if (cost_ns_ > 0) busy_until(begin_ns_ + cost_ns_ + waited_ns);
  }

  // Adversarial mode: is this call's wait listed? Asked once a call.
  Listed listed() {
    if (!late_mode) return Listed::no;
    if (!listed_known_) listed_ = listed_caller();
    listed_known_ = true;
    return listed_;
  }

  void always_waits() { listed_known_ = true; }

  CUresult error = CUDA_SUCCESS;
  Context* context = nullptr;
  int64_t waited_ns = 0;  // not part of the cost

 private:
  void find_context();
  int64_t begin_ns_, cost_ns_ = 0;
  Listed listed_ = Listed::no;
  bool listed_known_ = false;
};

#define DRIVER_CALL(needs)                                        \
  ::diogenes::sim::ApiCall call(::diogenes::sim::ApiCall::needs); \
  if (__builtin_expect(call.error != CUDA_SUCCESS, 0)) return call.error

// Which stream a null handle means.
enum class Null : uint8_t { legacy, per_thread };
inline constexpr Null kLegacy = Null::legacy, kPerThread = Null::per_thread;

// The stream of a handle in the current context; null: no such stream. Wants the device lock.
StreamPtr find_stream(Context& context, CUstream handle, Null null);
StreamPtr per_thread_stream(Context& context);
EventPtr find_event(CUevent handle);
Context* find_context(CUcontext handle);  // null: unknown or destroyed

// Submits work in stream order (legacy and per-thread default streams obeyed); into the graph where the
// stream is being captured. `op` (may be null) gets the operation, null while capturing. Wants the device
// lock.
CUresult enqueue(const StreamPtr& stream, Work work, OpPtr* op = nullptr, std::vector<OpPtr> after = {});
// Everything that a stream's, or a context's, synchronization waits for.
std::vector<OpPtr> outstanding(Stream& stream);
std::vector<OpPtr> outstanding(Context& context);
void retire_stream(Stream& stream);

// Is a call that waits, or that no graph can hold, allowed now? Wants the device lock.
CUresult allowed_outside_capture(Stream& stream);

}  // namespace diogenes::sim
