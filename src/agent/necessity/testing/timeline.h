// A program's calls played to the necessity collector, with the agent's other parts replaced: guards that the
// test touches, a recorder that keeps what it gets, a driver with a current context and memory. Streams,
// events and device addresses are small numbers; host memory is real.
//
//   Timeline t;
//   auto copy = t.d2h_async(host, 0x1000, 8192, kStream);
//   auto wait = t.synchronize(kStream);
//   t.touch(host);
//   EXPECT_EQ(t.reasons(wait), kCpuAccess);
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/call.h"
#include "agent/guard/guards.h"
#include "base/range.h"
#include "driver/cuda_abi.h"
#include "ffm/plan.h"

namespace diogenes::agent::testing {

using Operation = uint32_t;  // the sequence of an operation, counted from 1

inline constexpr uint64_t kLegacy = 0, kOwn = 2;  // default streams: legacy, per-thread

class Timeline {
 public:
  // `watch_run` of `watch_runs`: as in the plan.
  explicit Timeline(Stage stage = Stage::memory_tracing, uint32_t watch_run = 0, uint32_t watch_runs = 1);
  ~Timeline();

  // Any call of the catalogue. `wait`: it entered the wait function.
  Operation call(const char* symbol, std::vector<uint64_t> arguments, bool wait = false, int32_t result = 0,
                 uint8_t flags = 0);
  // In two halves, for calls of several threads that overlap.
  struct Open {
    Call call;
    std::vector<uint64_t> arguments;
    uint16_t thread = 0;
  };
  void begin(Open& open, const char* symbol, std::vector<uint64_t> arguments, uint8_t flags = 0);
  Operation end(Open& open, bool wait = false, int32_t result = 0);

  // Short forms, with the waits that facts name.
  Operation synchronize(uint64_t stream) { return call("cuStreamSynchronize", {stream}, true); }
  Operation synchronize_context() { return call("cuCtxSynchronize", {}, true); }
  Operation synchronize_event(uint64_t event) { return call("cuEventSynchronize", {event}, true); }
  Operation record(uint64_t event, uint64_t stream) { return call("cuEventRecord", {event, stream}); }
  Operation wait(uint64_t stream, uint64_t event) { return call("cuStreamWaitEvent", {stream, event, 0}); }
  Operation launch(uint64_t stream, std::vector<uint64_t> parameters = {});
  Operation d2h(void* host, uint64_t device, uint64_t bytes);
  Operation d2h_async(void* host, uint64_t device, uint64_t bytes, uint64_t stream, bool wait = false);
  Operation h2d(uint64_t device, const void* host, uint64_t bytes);
  Operation h2d_async(uint64_t device, const void* host, uint64_t bytes, uint64_t stream, bool wait = false);
  void stream(uint64_t handle, unsigned flags = CU_STREAM_DEFAULT);
  void event(uint64_t handle);
  void* pinned(uint64_t bytes, unsigned flags = 0);
  void* managed(uint64_t bytes);
  void* pageable(uint64_t bytes, uint64_t offset = 0);  // private memory, at a page's start + offset
  uint64_t device(uint64_t bytes);                      // real memory behind it, for contents
  Operation free_host(void* pinned) { return call("cuMemFreeHost", {address(pinned)}, true); }
  Operation free_device(uint64_t pointer) { return call("cuMemFree_v2", {pointer}, true); }
  void context(uint64_t current);

  // The program touches memory `after` the last call's end. True: some guard saw it.
  bool touch(const void* where, bool write = false, TouchBy by = TouchBy::program, int64_t after = 100);

  // The end; verdicts are final.
  void finish();
  std::optional<VerdictRecord> verdict(Operation operation);  // finishes
  uint32_t reasons(Operation operation);                      // finishes; ~0: no verdict
  std::optional<HashRecord> hash(Operation operation);
  Unused unused(Operation operation);        // finishes
  bool verdict_is_out(Operation operation);  // without finishing
  bool guarded(const void* where) { return guards_on(where) > 0; }
  // A copy to the host may have one of its own from the start (unread_on_host.h), beside those that waits
  // raise.
  int guards_on(const void* where);

  static uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
  int64_t now() const { return now_; }

 private:
  int64_t now_;
  uint32_t operations_ = 0;
  bool finished_ = false;
  std::vector<void*> mappings_;
  std::vector<std::pair<void*, size_t>> mapped_;
};

// What the fakes are told and saw.
struct World {
  uint64_t context = 0x100;
  bool refuse_guards = false;
  bool watchpoints = true;                                 // up to 32 bytes at a time
  uint32_t registers = 1000;                               // for them
  std::map<uint64_t, std::pair<unsigned, bool>> pointers;  // unknown to the map: memory type, managed
  std::map<uint64_t, unsigned> stream_flags;               // of streams not seen created
  std::map<uint64_t, std::vector<size_t>> parameters;      // by function; none: the driver does not say
  std::set<uint32_t> planned_stacks;
  std::set<PartKey> planned_parts;
  int page_tables = 0;
  int driver_calls_made = 0;
  std::map<Drop, int> drops;
  std::map<uint32_t, int> unwatched;
  std::vector<VerdictRecord> verdicts;
  std::vector<HashRecord> hashes;
  std::vector<UnusedRecord> unused;
  std::vector<WatchedRecord> watched;
  uint32_t stack = 7;  // of the calls
};
World& world();

}  // namespace diogenes::agent::testing
