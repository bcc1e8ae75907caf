// What lives in the simulated driver between calls: contexts, streams, events; and how an entry point begins
// and ends. Handles are looked up before they are used, so that an unknown one is an error and not a crash.
// All of it is guarded by the device's lock, except where a member is atomic.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api.h"
#include "device/clock.h"
#include "device/costs.h"
#include "device/device.h"
#include "late/late.h"

namespace diogenes::sim {

struct Capture;  // graphs.h

struct Stream {
  Context* context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  uint64_t id = 0;
  bool legacy = false, per_thread = false, active = false;
  OpPtr last;                       // its newest operation
  std::atomic<uint32_t> queued{0};  // operations submitted and not done
  std::shared_ptr<Capture> capture;
  std::vector<size_t> capture_tail;  // nodes on which the next captured one depends

  bool blocking() const { return (flags & CU_STREAM_NON_BLOCKING) == 0; }
};

struct Event {
  Context* context = nullptr;
  unsigned flags = 0;
  OpPtr op;                           // of its newest record; null: never recorded
  std::shared_ptr<Capture> captured;  // recorded in a capture: after which of its nodes
  std::vector<size_t> captured_after;
};
using EventPtr = std::shared_ptr<Event>;

struct Context {
  CUdevice device = 0;
  unsigned flags = 0;
  uint64_t id = 0;
  bool primary = false;
  std::atomic<bool> destroyed{false};
  std::atomic<int> sticky_error{0};  // CUresult of the failure that this context does not survive
  StreamPtr legacy;
  std::vector<StreamPtr> active;                // with work that may not be done
  std::vector<std::pair<OpPtr, bool>> orphans;  // last work of destroyed streams; whether they were blocking
  std::unordered_map<CUstream, StreamPtr> streams;
  int captures = 0;  // under way on blocking streams
  std::map<int, size_t> limits;
};

struct ThreadState {
  std::vector<Context*> contexts;                               // the stack; the last is current
  std::vector<std::pair<Context*, StreamPtr>> default_streams;  // per-thread default streams
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  ~ThreadState();
};
ThreadState& thread_state();

struct Driver {
  std::atomic<uint64_t> next_id{1};
  std::unordered_map<CUcontext, Context*> contexts;  // never freed, so that a stale pointer stays readable
  std::unordered_map<CUevent, EventPtr> events;
  Context* primary = nullptr;
  unsigned primary_flags = 0;
  int primary_references = 0;
};
Driver& driver();

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

using Held = std::unique_lock<std::mutex>;
// Others hold it for a microsecond or two: a thread that went to sleep for that would come back later than
// any call of a real driver.
inline Held hold_device() {
  constexpr int kSpins = 1000;
  Held held(device().lock, std::try_to_lock);
  for (int spin = 0; spin < kSpins && !held; ++spin) {
    cpu_relax();
    static_cast<void>(held.try_lock());
  }
  if (!held) held.lock();
  return held;
}

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
