#include "analysis/program/placed_work.h"

#include <algorithm>

namespace diogenes {
namespace {

using replay::kNone;
using replay::Node;
using replay::Schedule;
using replay::Waits;
using replay::Work;

using Stream = std::vector<PlacedWork>;

void add(Stream& stream, PlacedWork one, int64_t length) {
  one.begin = std::max(one.given, stream.empty() ? 0 : stream.back().end);
  one.end = one.begin + length;
  stream.push_back(one);
}

// The first `count` had ended by then: what was placed later moves forward, as far as it had been given.
void ended_by(Stream& stream, int64_t time, size_t count) {
  for (size_t i = count; i-- > 0 && stream[i].end > time;) {
    PlacedWork& one = stream[i];
    const int64_t length = one.end - one.begin;
    one.end = std::max(time, one.given);
    one.begin = std::max(one.given, one.end - length);
    time = one.begin;
  }
}

// What an event stands behind: so many pieces of work of a stream.
struct Recorded {
  uint32_t stream = kNone;
  size_t count = 0;
};

}  // namespace

PlacedStreams place_gpu_work(const Process& process, const Schedule& schedule) {
  PlacedStreams placed{.streams = std::vector<Stream>(schedule.streams), .legacy = schedule.legacy};
  std::vector<size_t> given(schedule.streams, 0);
  for (const replay::ThreadSchedule& thread : schedule.threads)
    for (const Node& node : thread.nodes)
      if (node.on_gpu() && !node.unseen()) ++given[node.stream];
  for (uint32_t s = 0; s < schedule.streams; ++s) placed.streams[s].reserve(given[s]);
  std::vector<Recorded> recorded(schedule.events);
  for (const replay::NodeAt at : replay::in_time_order(schedule)) {
    const replay::ThreadSchedule& thread = schedule.threads[at.thread];
    const Node& node = thread.nodes[at.node];
    if (node.work == Work::record && node.event != kNone)
      recorded[node.event] = {node.stream, placed.streams[node.stream].size()};
    if (node.on_gpu() && !node.unseen()) {
      const int64_t length = process.threads[thread.thread].operations[node.operation].gpu.count;
      if (length >= 0)
        add(placed.streams[node.stream],
            {.given = node.submitted(),
             .thread = thread.thread,
             .operation = node.operation,
             .work = node.work},
            length);
    }
    if (node.waits == Waits::no || !schedule.really_waited(node)) continue;
    if (node.waits == Waits::event) {
      if (node.event == kNone || recorded[node.event].stream == kNone) continue;
      ended_by(placed.streams[recorded[node.event].stream], node.end(), recorded[node.event].count);
      continue;
    }
    const bool all = node.waits == Waits::context || node.stream == schedule.legacy;
    for (uint32_t s = 0; s < schedule.streams; ++s)
      if (all || s == node.stream) ended_by(placed.streams[s], node.end(), placed.streams[s].size());
  }
  return placed;
}

}  // namespace diogenes
