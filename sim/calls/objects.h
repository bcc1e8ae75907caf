// What lives in the simulated driver between calls: contexts, streams, events. All of it is guarded by the device's lock,
// except where a member is atomic.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/op.h"

namespace diogenes::sim {

struct Capture;  // graphs/capture.h

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

struct Driver {
  std::atomic<uint64_t> next_id{1};
  std::unordered_map<CUcontext, Context*> contexts;  // never freed, so that a stale pointer stays readable
  std::unordered_map<CUevent, EventPtr> events;
  Context* primary = nullptr;
  unsigned primary_flags = 0;
  int primary_references = 0;
};
// Never destroyed, as the device.
inline Driver& driver() {
  static Driver* the_driver = new Driver;
  return *the_driver;
}

}  // namespace diogenes::sim
