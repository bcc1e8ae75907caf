// What one process did, in the form in which it can be run again. In: the operations of stage 2. Out: per
// thread the calls that wait for the GPU or give it work, with their recorded times; calls that do neither
// are CPU time. Streams and events are numbered densely. Nanoseconds throughout, since the process's start.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/replay/recorded/sleep_costs.h"
#include "analysis/runs/run.h"

namespace diogenes::replay {

inline constexpr uint32_t kNone = UINT32_MAX;

// Of a wait of which it is known that it found nothing to wait for. The first one behind work takes 1.5
// to 2.3 us on the H200, however long ago that ended, the next ones 0.2; what is not known of took as long.
inline constexpr int64_t kLongestWaitForNothing = 2'500;

// What a call that copies to pageable memory takes before it gives the GPU anything: assumed, as one of 4 bytes takes 8 us in
// all on the H200, and some of that is the GPU's.
inline constexpr int64_t kBeforePageableCopy = 5'000;

enum class Work : uint8_t { none, kernel, to_device, to_host, on_device, record, wait_event };
enum class Waits : uint8_t { no, own, stream, event, context };

struct Node {
  int64_t begin = 0;
  int64_t own =
      0;  // in the call, not waiting: before the work is handed over; behind the wait if there is none
  int64_t waited = 0;      // for the GPU, or for a place in the launch queue (queue_full)
  uint32_t operation = 0;  // position in its thread
  uint32_t stream = kNone;
  uint32_t event = kNone;
  // Position of its duration; none for markers. A wait that really waited, with no recorded work to wait for,
  // has one too: of work that was not seen, taken as handed over where the wait begins.
  uint32_t gpu = kNone;
  uint32_t recording = 0;  // what recording took out of the CPU work before the node
  uint32_t site = kNone;
  Work work = Work::none;
  Waits waits = Waits::no;
  bool queue_full = false;
  bool polled = false;  // a loop of queries (polls.h), taken as one wait: nobody has to wake the thread

  int64_t end() const { return begin + own + waited; }
  int64_t submitted() const { return unseen() ? begin : queue_full ? end() : begin + own; }
  bool on_gpu() const { return gpu != kNone; }
  bool unseen() const { return work == Work::none && on_gpu(); }
};

struct Copy {
  uint64_t bytes = 0;
  bool is_copy = false, pageable = false;
};

// A point in a thread's CPU work at which it lets others go on, or goes on because others did (thread_order.h).
struct OrderPoint {
  struct From {
    uint32_t thread = 0, point = 0;  // in Schedule::threads, in its points
  };
  uint32_t node = 0;              // in the CPU work before it
  uint32_t first = 0, count = 0;  // of an acquire: the releases that it follows, in Schedule::releases
  int64_t at = 0;                 // recorded
  int64_t slept = 0;              // until `at`; 0: it found that the others had been there
  int64_t latency = 0;            // from the last release until it goes on, where it sleeps
  int64_t usual = 0;       // the same of the thread's sleeps of that length, and no more than `latency`
  int64_t asleep = -1;     // for so long until that release when `latency` was recorded; -1: not recorded
  int64_t waking = 0;      // of a release: what it paid for those that it woke
  int64_t not_before = 0;  // released by a thread of which no more is known, then
  bool acquires = false;   // else it releases
  bool starts = false;     // the thread's own start
  bool firm = true;        // false: a lock that was free; the order could have been another
};

struct ThreadSchedule {
  bool main = false;
  uint32_t thread = 0;  // position in Process::threads
  int64_t start = 0, exit = 0;
  uint32_t recording_behind = 0;  // the same of the work behind the last node
  std::vector<Node> nodes;
  std::vector<OrderPoint> points;  // by node and time

  // Does the run take as long as this thread? Others only pass on what the program's own threads release.
  bool counts() const { return main || !nodes.empty(); }
};

struct Schedule {
  std::vector<ThreadSchedule> threads;
  std::vector<OrderPoint::From> releases;  // of all acquires
  bool order_recorded = false;             // else it is inferred: starts and joins alone
  bool order_complete = false;    // each thread with nodes meets others between its start and its end
  bool locks_taken_free = false;  // there are points that are not firm
  SleepCosts sleep_costs;
  uint32_t main_thread = kNone;  // position in threads
  uint32_t streams = 0, events = 0, gpu_operations = 0;
  uint32_t legacy = kNone;  // the legacy default stream, where it is used
  // By stream: made as non-blocking, so that the legacy default stream does not order it.
  std::vector<bool> independent;
  std::vector<uint32_t> blocks;  // by stream: of its largest kernel; UINT32_MAX: not known of one of them
  uint32_t multiprocessors = 0;  // of the GPU; 0: not known
  std::vector<Copy> copies;      // by Node::gpu
  int64_t end = 0;               // recorded
  int64_t idle_wait = 0;         // a wait of up to this found nothing to wait for
  int64_t idle_cost = 0;  // what one costs that finds nothing, and did find something when it was recorded
  // What was taken out of a call's own time for the hooks inside it: of one that does not wait, of one that
  // does.
  int64_t hooks_inside = 0, hooks_inside_wait = 0;

  bool is_independent(uint32_t stream) const { return stream < independent.size() && independent[stream]; }
  bool really_waited(const Node& node) const { return node.waited > idle_wait; }
  // Time of a wait that finds nothing to wait for: what it took when it was recorded, if that was so short.
  int64_t idle_time(const Node& node) const {
    return node.waited <= std::max(idle_wait, kLongestWaitForNothing) ? node.waited : idle_cost;
  }
};

struct NodeAt {
  uint32_t thread, node;
};

// All nodes by their recorded end.
inline std::vector<NodeAt> in_time_order(const Schedule& schedule) {
  std::vector<NodeAt> order;
  size_t count = 0;
  for (const ThreadSchedule& thread : schedule.threads) count += thread.nodes.size();
  order.reserve(count);
  for (uint32_t t = 0; t < schedule.threads.size(); ++t)
    for (uint32_t i = 0; i < schedule.threads[t].nodes.size(); ++i) order.push_back({t, i});
  auto end = [&](NodeAt at) { return schedule.threads[at.thread].nodes[at.node].end(); };
  if (schedule.threads.size() > 1)
    std::stable_sort(order.begin(), order.end(), [&](NodeAt a, NodeAt b) { return end(a) < end(b); });
  return order;
}

}  // namespace diogenes::replay
