// The GPU of the event simulator: what it was given, and when each operation starts and ends. In: operations
// as they are handed over, in the order of time. Out: its next event, and whether a wait has what it waits
// for. What of it is modelled: simulator.h. Times in nanoseconds.
#pragma once
#include <deque>
#include <optional>
#include <queue>

#include "analysis/replay/recorded/machine.h"

namespace diogenes::replay {

struct Target {  // all operations of the stream (kNone: of all streams) up to this sequence number
  uint32_t stream = kNone;
  uint64_t up_to = 0;
  bool blocking_only = false;  // of all streams but the non-blocking ones
};

class Gpu {
 public:
  static constexpr int64_t kNever = INT64_MAX;

  // Both have to outlive it.
  Gpu(const Schedule& schedule, const std::vector<int64_t>& durations, const Machine& machine);

  int64_t next() const { return events_.empty() ? kNever : events_.top().time; }
  bool step();  // what happens next, happens; true: an operation ended
  int64_t end() const { return end_; }

  void submit(const Node& node, int64_t now);
  // The stream's later work waits for it.
  void submit_wait(uint32_t stream, const Target& after, int64_t now);
  uint64_t submitted() const { return sequence_; }

  // What a wait that begins now waits for. (Of work that was not seen: for what it was submitted as.)
  Target target_of(const Node& wait) const;
  bool reached(const Target& target) const;
  bool idle() const { return pending_ == 0; }
  // What has to end before there is a place for it in its stream's queue; nothing: there is one.
  std::optional<Target> place_for(const Node& node) const;

 private:
  struct Pending {
    uint64_t sequence = 0;
    int64_t submitted = 0, duration = 0;  // `submitted`: from then on it can start
    Work work = Work::none;
    Target after;  // wait_event
  };

  struct Stream {
    std::vector<Pending> queue;  // from `head` on
    size_t head = 0;
    int64_t last_end = INT64_MIN / 2;
    Work last_work = Work::none;
    bool active = false;  // its head is scheduled, waits for an engine, or runs

    size_t length() const { return queue.size() - head; }
    uint64_t first() const { return length() == 0 ? UINT64_MAX : queue[head].sequence; }
    void pop();
  };

  struct Engine {
    uint32_t busy = 0;
    std::deque<uint32_t> waiting;
  };

  struct Event {
    int64_t time;
    bool starts;  // at the same time: ends first
    uint32_t stream;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : starts != other.starts ? starts : stream > other.stream;
    }
  };

  bool may_start(uint32_t stream) const;
  void schedule_head(uint32_t stream, int64_t now);
  int engine_of(Work work) const;
  uint32_t places(int engine) const;
  void start(uint32_t stream, int64_t now);
  void finish(uint32_t stream, int64_t now);

  const Schedule& in_;
  const std::vector<int64_t>& durations_;
  const Machine machine_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Stream> streams_;
  std::vector<Target> recorded_;  // by event
  std::vector<Engine> engines_;
  std::vector<uint32_t> held_;  // streams whose head waits for other streams
  int64_t end_ = 0;
  uint64_t sequence_ = 0, pending_ = 0;
};

}  // namespace diogenes::replay
