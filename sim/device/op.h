// Operations of the simulated GPU, as the device runs them and graphs keep them.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "calls/api.h"

namespace diogenes::sim {

struct Context;
struct Stream;
struct Op;
using OpPtr = std::shared_ptr<Op>;
using StreamPtr = std::shared_ptr<Stream>;

enum class Engine : uint8_t { none, host_to_device, device_to_host, device_to_device };

enum class Kind : uint8_t {
  timed,     // takes duration_ns
  polled,    // ends when `effect` says so
  by_host,   // begins, and the thread that submitted it ends it (finish)
  callback,  // a function of the program's, on the callback thread
};

enum class Effect : uint8_t { done, not_yet, illegal_address };

// Host memory that an operation touches; kept in the adversarial mode only (late.h).
struct HostRange {
  uintptr_t begin, end;
  bool written;
};

struct NodeDescription;  // graphs.h

// What an operation does; a value, so that graphs can submit it again.
struct Work {
  Kind kind = Kind::timed;
  Engine engine = Engine::none;
  int64_t latency_ns = 0;      // from submission to the earliest begin
  int64_t duration_ns = 0;     // timed
  size_t bytes = 0;            // that `effect` moves
  bool is_polled_for = false;  // the program may wait for what `effect` writes without a call
  std::function<Effect()> effect;
  std::function<void(CUresult)> function;  // callback
  std::vector<HostRange> host;
  const char* kernel = nullptr;  // its name; null: none
  uint32_t grid[3] = {}, block[3] = {};
  std::shared_ptr<const NodeDescription> node;  // captured: what it is in a graph
};

struct Op {
  Work work;
  Context* context = nullptr;
  StreamPtr stream;
  uint64_t sequence = 0;
  uint32_t pending = 0;
  bool effect_ran = false;
  int64_t ready_ns = 0, begin_ns = 0, end_ns = 0;
  int64_t inputs_ns = 0;             // by then what it depends on can have changed memory
  int64_t took_ns = 0;               // to change memory, of a large effect
  uint64_t recorded_for = 0;         // gpu_times_table.h; 0: nobody asked
  std::atomic<bool> running{false};  // by_host: it is the host's turn; release, pairs with acquire in wait.cc
  std::atomic<bool> done{
      false};  // release, pairs with acquire in wait.cc: effects before it are seen after it
  std::vector<OpPtr> dependents;
  // Adversarial mode:
  std::vector<OpPtr> after;  // not done when it was submitted
  int64_t submitted_ns = 0;
  bool started = false;  // by_host and callback
};

}  // namespace diogenes::sim
