#include "analysis/replay/gpu.h"

#include <algorithm>

namespace diogenes::replay {

void Gpu::Stream::pop() {
  if (++head == queue.size()) {
    queue.clear();
    head = 0;
  } else if (head > 4096 && 2 * head > queue.size()) {
    queue.erase(queue.begin(), queue.begin() + static_cast<ptrdiff_t>(head));
    head = 0;
  }
}

Gpu::Gpu(const Schedule& schedule, const std::vector<int64_t>& durations, const Machine& machine)
    : in_(schedule),
      durations_(durations),
      machine_(machine),
      streams_(schedule.streams),
      recorded_(schedule.events),
      engines_(3) {}

bool Gpu::step() {
  const Event event = events_.top();
  events_.pop();
  if (event.starts)
    start(event.stream, event.time);
  else
    finish(event.stream, event.time);
  return !event.starts;
}

Target Gpu::target_of(const Node& wait) const {
  if (wait.unseen()) return {wait.stream, sequence_};
  switch (wait.waits) {
    case Waits::own:
    case Waits::stream:
      if (machine_.legacy_orders && wait.stream == in_.legacy) return {kNone, sequence_, true};
      return {wait.stream, sequence_};
    case Waits::event:
      return recorded_[wait.event];
    default:
      break;
  }
  return {kNone, sequence_};
}

bool Gpu::reached(const Target& target) const {
  if (pending_ == 0) return true;
  if (target.stream != kNone) return streams_[target.stream].first() > target.up_to;
  for (uint32_t s = 0; s < streams_.size(); ++s)
    if (streams_[s].first() <= target.up_to && !(target.blocking_only && in_.is_independent(s))) return false;
  return true;
}

std::optional<Target> Gpu::place_for(const Node& node) const {
  const Stream& stream = streams_[node.stream];
  if (node.gpu == kNone || stream.length() < machine_.queue_depth) return {};
  return Target{node.stream, stream.queue[stream.queue.size() - machine_.queue_depth].sequence};
}

void Gpu::submit(const Node& node, int64_t now) {
  Pending operation;
  operation.sequence = ++sequence_;
  operation.work = node.unseen() ? Work::kernel : node.work;
  if (node.gpu != kNone) operation.duration = durations_[node.gpu];
  operation.submitted = now + start_latency(machine_, in_, node, operation.duration);
  if (node.work == Work::record && node.event != kNone) recorded_[node.event] = {node.stream, sequence_};
  if (node.work == Work::wait_event && node.event != kNone) operation.after = recorded_[node.event];
  Stream& stream = streams_[node.stream];
  stream.queue.push_back(operation);
  ++pending_;
  if (!stream.active) schedule_head(node.stream, now);
}

void Gpu::submit_wait(uint32_t stream, const Target& after, int64_t now) {
  Pending operation;
  operation.sequence = ++sequence_;
  operation.work = Work::wait_event;
  operation.submitted = now;
  operation.after = after;
  streams_[stream].queue.push_back(operation);
  ++pending_;
  if (!streams_[stream].active) schedule_head(stream, now);
}

bool Gpu::may_start(uint32_t s) const {
  const Pending& operation = streams_[s].queue[streams_[s].head];
  if (operation.work == Work::wait_event && !reached(operation.after)) return false;
  if (!machine_.legacy_orders || in_.legacy == kNone || streams_.size() == 1) return true;
  if (s != in_.legacy) return in_.is_independent(s) || streams_[in_.legacy].first() > operation.sequence;
  for (uint32_t other = 0; other < streams_.size(); ++other)
    if (streams_[other].first() < operation.sequence && !in_.is_independent(other)) return false;
  return true;
}

void Gpu::schedule_head(uint32_t s, int64_t now) {
  Stream& stream = streams_[s];
  if (stream.length() == 0 || stream.active) return;
  if (!may_start(s)) {
    if (std::find(held_.begin(), held_.end(), s) == held_.end()) held_.push_back(s);
    return;
  }
  stream.active = true;
  const Pending& operation = stream.queue[stream.head];
  int64_t time = now;
  if (operation.work <= Work::on_device)
    time = std::max(
        {now, operation.submitted, stream.last_end + machine_.gap_between(stream.last_work, operation.work)});
  events_.push({time, true, s});
}

// Which engine holds others up: kernels and copies on the device, copies to it, copies from it; -1: none.
int Gpu::engine_of(Work work) const {
  if (work == Work::to_device) return 1;
  if (work == Work::to_host) return 2;
  bool limited = !machine_.kernels_overlap || machine_.kernels_at_once > 0;
  return work == Work::kernel && limited ? 0 : -1;
}

// How many operations an engine runs at once.
uint32_t Gpu::places(int engine) const {
  return engine == 0 && machine_.kernels_overlap ? machine_.kernels_at_once : 1;
}

void Gpu::start(uint32_t s, int64_t now) {
  const Pending& operation = streams_[s].queue[streams_[s].head];
  const int engine = engine_of(operation.work);
  if (engine >= 0) {
    Engine& used = engines_[static_cast<size_t>(engine)];
    if (used.busy >= places(engine)) {
      used.waiting.push_back(s);
      return;
    }
    ++used.busy;
  }
  events_.push({now + operation.duration, false, s});
}

void Gpu::finish(uint32_t s, int64_t now) {
  Stream& stream = streams_[s];
  const Pending operation = stream.queue[stream.head];
  if (operation.work <= Work::on_device) {
    stream.last_end = now;
    stream.last_work = operation.work;
  }
  end_ = std::max(end_, now);
  stream.pop();
  stream.active = false;
  --pending_;
  const int engine = engine_of(operation.work);
  if (engine >= 0) {
    Engine& used = engines_[static_cast<size_t>(engine)];
    --used.busy;
    if (!used.waiting.empty()) {
      const uint32_t first = used.waiting.front();
      used.waiting.pop_front();
      start(first, now);
    }
  }
  schedule_head(s, now);
  if (held_.empty()) return;
  std::vector<uint32_t> held;
  held.swap(held_);
  for (uint32_t other : held) schedule_head(other, now);
}

}  // namespace diogenes::replay
