// Test support: a program's calls played to the collector of facts, with the agent's other parts replaced:
// guards that the test touches, a recorder that keeps what it gets, a driver with a current context and
// memory. Streams, events and graphs are small numbers; memory is real.
//
//   Program program;
//   void* host = program.pinned(8192);
//   program.d2h_async(host, program.device(8192), 8192, kStream);
//   program.synchronize(kStream);
//   EXPECT_TRUE(program.is_guarded(host));
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/core/calls/call.h"
#include "agent/watching/guard/guards.h"
#include "driver/cuda_abi.h"
#include "trace/fact_records.h"

namespace diogenes::agent::testing {

inline constexpr uint64_t kLegacy = 0, kStream = 0x1001, kOtherStream = 0x1002;

// What the records say of one call.
struct Recorded {
  CallRecord call{};
  uint32_t sequence = 0;
  uint32_t flags = 0;  // OperandListFlag
  std::vector<OperandRecord> operands;

  const OperandRecord* operand(uint64_t begin) const;  // null: none begins there
};

struct Node {
  CUgraphNodeType type{};
  std::vector<uint64_t> parameters;
  std::vector<void*> pointers;
  CUDA_MEMCPY3D copy{};
  CUDA_MEMSET_NODE_PARAMS fill{};
  uint64_t child = 0;
  bool updatable = false;
};

// What the fakes are told and saw.
struct World {
  uint64_t context = 0x100;
  bool refuse_guards = false;
  int page_tables = 0;
  std::map<uint64_t, std::vector<size_t>> parameters;  // by function; none: the driver does not say
  std::map<uint64_t, std::deque<Node>> graphs;
  int driver_calls = 0;  // made by the agent
  uint64_t stack_left = 1 << 20;
  std::map<Drop, int> drops;
  std::vector<CallRecord> calls;
  std::vector<HashRecord> hashes;
  std::vector<MemoryEventRecord> memory_events;
  std::vector<StreamRecord> streams;
  std::vector<WatchRefusal> refusals;
  int64_t baseline_ns = 3'600'000'000'000;  // no program of these tests takes as long
};
World& world();

class Program {
 public:
  Program();
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Any call of the catalogue. `waits`: it entered the wait function.
  Recorded call(const char* symbol, std::vector<uint64_t> arguments, bool waits = false, int32_t result = 0,
                uint8_t flags = 0);
  Recorded launch(uint64_t stream, std::vector<uint64_t> parameters = {});
  Recorded launch_graph() { return call("cuGraphLaunch", {kExecutable, kStream}); }
  void instantiate(uint64_t graph = kGraph, uint64_t flags = 0);
  Recorded synchronize(uint64_t stream) { return call("cuStreamSynchronize", {stream}, true); }
  Recorded d2h(void* host, uint64_t device, uint64_t bytes) {
    return call("cuMemcpyDtoH_v2", {address(host), device, bytes}, true);
  }
  Recorded d2h_async(void* host, uint64_t device, uint64_t bytes, uint64_t stream) {
    return call("cuMemcpyDtoHAsync_v2", {address(host), device, bytes, stream});
  }
  Recorded h2d(uint64_t device, const void* host, uint64_t bytes) {
    return call("cuMemcpyHtoD_v2", {device, address(host), bytes}, true);
  }
  Recorded h2d_async(uint64_t device, const void* host, uint64_t bytes, uint64_t stream) {
    return call("cuMemcpyHtoDAsync_v2", {device, address(host), bytes, stream});
  }
  void* pinned(uint64_t bytes, unsigned flags = 0);
  void* managed(uint64_t bytes);
  void* pageable(uint64_t bytes);
  uint64_t device(uint64_t bytes);
  void end();

  Node& node(uint64_t graph, CUgraphNodeType type);
  Node& kernel_node(uint64_t graph, std::vector<uint64_t> parameters);
  Node& download_node(uint64_t graph, void* to, uint64_t from, uint64_t bytes);

  bool is_guarded(const void* where) const;
  bool touch(const void* where, bool write = false);  // true: a guard saw it
  std::optional<HashRecord> hash(const Recorded& copy) const;

  static uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
  static constexpr uint64_t kGraph = 0x9000, kInner = 0x9100, kOther = 0x9200, kExecutable = 0xa000;

 private:
  uint32_t sequence_ = 0;
  std::vector<std::pair<void*, size_t>> mapped_;
};

}  // namespace diogenes::agent::testing
