#include "analysis/replay/simulator.h"

#include <algorithm>
#include <queue>

#include "analysis/replay/gpu.h"

namespace diogenes::replay {
namespace {

struct MovedWait {
  uint32_t node = 0;  // happens in the work before it
  int64_t offset = 0;
  uint32_t edit = 0;
  Target target;
  bool armed = false;
};

enum class Phase : uint8_t { gap, use, point, call, queue, submit, wait, woken, behind, exit, done };

struct ThreadState {
  uint32_t node = 0;
  Phase phase = Phase::gap;
  int64_t clock = 0, gone = 0;  // `gone`: of the CPU work before the node
  Target waiting;
  std::span<const Edit> edits;  // from the next one on
  std::vector<MovedWait> moved;
  size_t next_moved = 0;
  size_t armed = 0;             // moved waits that have still to happen
  uint32_t passed = 0;          // of its points
  int64_t slept = 0;            // of the recorded time of the CPU work before the node
  uint32_t stream = kNone;      // to which it gave work last
  std::vector<Target> orders;   // what it gives later comes behind them
  std::vector<size_t> ordered;  // by stream: behind how many of them it is already
  int64_t asleep_since = 0;     // where others have to release it before its next point
};

struct Step {  // of a thread; what happens on the GPU at the same time comes first
  int64_t time;
  uint32_t thread;
  bool operator>(const Step& other) const {
    return time != other.time ? time > other.time : thread > other.thread;
  }
};

class Simulator {
 public:
  Simulator(const Schedule& schedule, const std::vector<int64_t>& durations, const Machine& machine,
            const Setting& setting, std::span<const Edit> edits, std::vector<Checkpoint>* fill,
            const std::vector<Checkpoint>* use)
      : in_(schedule),
        machine_(machine),
        setting_(setting),
        fill_(fill),
        use_(use),
        gpu_(schedule, durations, machine),
        threads_(schedule.threads.size()),
        awaiting_(schedule.threads.size()) {
    outcome_.threads.resize(threads_.size());
    for (uint32_t t = 0; t < threads_.size(); ++t) start_thread(t, edits);
  }

  Outcome run() {
    while (gpu_.next() != Gpu::kNever || !steps_.empty() || release_first()) {
      if (steps_.empty() || gpu_.next() <= steps_.top().time) {
        now_ = gpu_.next();
        if (gpu_.step()) wake();
        continue;
      }
      const Step next = steps_.top();
      steps_.pop();
      now_ = next.time;
      step(next.thread);
    }
    outcome_.end = std::max(outcome_.end, gpu_.end());
    return std::move(outcome_);
  }

 private:
  void start_thread(uint32_t t, std::span<const Edit> edits) {
    ThreadState& thread = threads_[t];
    auto begin = std::lower_bound(edits.begin(), edits.end(), t,
                                  [](const Edit& edit, uint32_t value) { return edit.thread < value; });
    auto end = begin;
    for (; end != edits.end() && end->thread == t; ++end)
      if (end->use_node != kNone)
        thread.moved.push_back({end->use_node, end->use_offset, end->node, {}, false});
    thread.edits = {begin, end};
    std::stable_sort(thread.moved.begin(), thread.moved.end(), [](const MovedWait& a, const MovedWait& b) {
      return std::pair(a.node, a.offset) < std::pair(b.node, b.offset);
    });
    const auto& points = in_.threads[t].points;
    if (setting_.threads_joined && !points.empty() && points[0].starts) {
      const uint32_t by = awaited(points[0]);
      if (by == kNone)
        steps_.push({now_, t}), thread.phase = Phase::point;
      else
        awaiting_[by].push_back(t);
      return;
    }
    thread.clock = in_.threads[t].start;
    steps_.push({thread.clock, t});
  }

  // ---- CPU threads

  int64_t work_before(uint32_t t, uint32_t node) const {
    const ThreadSchedule& thread = in_.threads[t];
    int64_t from = node == 0 ? thread.start : thread.nodes[node - 1].end();
    bool last = node == thread.nodes.size();
    int64_t to = last ? thread.exit : thread.nodes[node].begin;
    int64_t recording = last ? thread.recording_behind : thread.nodes[node].recording;
    if (!setting_.recording_out) recording = 0;
    const auto& edits = threads_[t].edits;
    int64_t removed = !edits.empty() && edits.front().node == node ? edits.front().before : 0;
    return std::max<int64_t>(to - from - recording - removed - slept_before(t), 0);
  }

  // Of the CPU work before the thread's next node, the time that it slept until others released it.
  int64_t slept_before(uint32_t t) const {
    if (!setting_.threads_joined) return 0;
    int64_t slept = threads_[t].slept;
    const auto& points = in_.threads[t].points;
    for (uint32_t i = threads_[t].passed; i < points.size() && points[i].node == threads_[t].node; ++i)
      slept += points[i].slept;
    return slept;
  }

  // True: the thread goes on at once; else an event will take it up there.
  bool goes_on(uint32_t t, int64_t time, Phase phase) {
    threads_[t].clock = time;
    threads_[t].phase = phase;
    if (time < gpu_.next() && (steps_.empty() || time < steps_.top().time)) {
      now_ = time;
      return true;
    }
    steps_.push({time, t});
    return false;
  }

  void step(uint32_t t) {
    while (advance(t)) {
    }
  }

  bool advance(uint32_t t) {
    ThreadState& thread = threads_[t];
    const ThreadSchedule& plan = in_.threads[t];
    const Node* node = thread.node < plan.nodes.size() ? &plan.nodes[thread.node] : nullptr;
    switch (thread.phase) {
      case Phase::gap:
        return gap(t);
      case Phase::use: {
        MovedWait& wait = thread.moved[thread.next_moved++];
        thread.armed -= wait.armed;
        if (!setting_.moved_as_event) wait.target.up_to = gpu_.submitted();
        return !wait.armed ? goes_on(t, now_, Phase::gap) : wait_for(t, wait.target, Phase::gap);
      }
      case Phase::point:
        return pass_point(t);
      case Phase::call:
        return call(t, *node);
      case Phase::queue:
        return queue(t, *node);
      case Phase::submit:
        submit(t, *node);
        return goes_on(t, now_ + own_of(t, *node) - before_handover(t, *node), Phase::wait);
      case Phase::wait:
        return wait(t, *node);
      case Phase::woken:
        return goes_on(t, now_ + own_behind(t, *node), Phase::behind);
      case Phase::behind:
        return next(t);
      case Phase::exit:
        outcome_.threads[t] = now_;
        if (plan.counts()) outcome_.end = std::max(outcome_.end, now_);
        thread.phase = Phase::done;
        return false;
      default:
        return false;
    }
  }

  bool gap(uint32_t t) {
    ThreadState& thread = threads_[t];
    const ThreadSchedule& plan = in_.threads[t];
    const int64_t work = work_before(t, thread.node);
    const bool moved =
        thread.next_moved < thread.moved.size() && thread.moved[thread.next_moved].node <= thread.node;
    const bool point = setting_.threads_joined && thread.passed < plan.points.size() &&
                       plan.points[thread.passed].node <= thread.node;
    if (moved || point) {
      // Recorded times since the node before; what was slept is no progress.
      const int64_t from = thread.node == 0 ? plan.start : plan.nodes[thread.node - 1].end();
      const int64_t to_use = moved ? thread.moved[thread.next_moved].offset : INT64_MAX;
      const int64_t to_point =
          point ? plan.points[thread.passed].at - plan.points[thread.passed].slept - from : INT64_MAX;
      const int64_t offset =
          std::clamp(std::min(to_use, to_point) - thread.slept, thread.gone, std::max(work, thread.gone));
      const int64_t time = now_ + offset - thread.gone;
      thread.gone = offset;
      return goes_on(t, time, to_use <= to_point ? Phase::use : Phase::point);
    }
    int64_t time = now_ + std::max<int64_t>(work - thread.gone, 0);
    return goes_on(t, time, thread.node < plan.nodes.size() ? Phase::call : Phase::exit);
  }

  // ---- who lets whom go on

  // The first thread that has still to release it; kNone: it may be passed. Its time (not_before) apart.
  uint32_t awaited(const OrderPoint& point) const {
    if (!point.firm && !setting_.locks_in_order) return kNone;
    for (uint32_t i = point.first; i < point.first + point.count; ++i) {
      const OrderPoint::From& from = in_.releases[i];
      if (threads_[from.thread].passed <= from.point) return from.thread;
    }
    return kNone;
  }
  const OrderPoint& next_point(uint32_t t) const { return in_.threads[t].points[threads_[t].passed]; }

  bool pass_point(uint32_t t) {
    ThreadState& thread = threads_[t];
    const OrderPoint& point = in_.threads[t].points[thread.passed];
    // A thread of which no more is known releases it when it did.
    if (now_ < point.not_before && (point.firm || setting_.locks_in_order)) {
      thread.phase = Phase::point;
      steps_.push({point.not_before + wakes_after(point, point.not_before - now_), t});
      return false;
    }
    if (const uint32_t by = awaited(point); by != kNone) {
      awaiting_[by].push_back(t);
      thread.asleep_since = now_;
      return false;
    }
    thread.slept += point.slept;
    ++thread.passed;
    if (point.acquires) return goes_on(t, now_, Phase::gap);
    // Where waking others costs less than when it was recorded, there is so much less of its work left.
    const int64_t waking = release_others(t);
    const int64_t more = setting_.sleeps_cost ? waking - point.waking : 0;
    thread.gone += std::max<int64_t>(-more, 0);
    return goes_on(t, now_ + std::max<int64_t>(more, 0), Phase::gap);
  }

  // It slept for another time when that was recorded. What woke it later than usual is part of long sleeps, as the host of a
  // virtual machine has taken the processor away by then: one whose wake-up costs a tenth less than it did has none of that.
  int64_t wakes_after(const OrderPoint& point, int64_t asleep) const {
    if (point.starts || !setting_.sleeps_cost) return point.latency;
    const int64_t recorded = point.asleep < 0 ? 0 : in_.sleep_costs.wakes_after(point.asleep);
    const int64_t now = in_.sleep_costs.wakes_after(asleep);
    const bool shorter = 10 * now < 9 * recorded;
    return std::max<int64_t>((shorter ? point.usual : point.latency) + now - recorded, 0);
  }

  // Nothing else can happen: damaged records name releases that never come.
  bool release_first() {
    uint32_t first = kNone;
    for (const auto& threads : awaiting_)
      for (const uint32_t t : threads)
        if (first == kNone || std::pair(next_point(t).at, t) < std::pair(next_point(first).at, first))
          first = t;
    if (first == kNone) return false;
    for (auto& threads : awaiting_) std::erase(threads, first);
    ThreadState& thread = threads_[first];
    thread.slept += next_point(first).slept;
    ++thread.passed;
    thread.phase = Phase::gap;
    steps_.push({now_, first});
    return true;
  }

  // Those that await this thread go on, or await another one. Returns what it costs to wake them.
  int64_t release_others(uint32_t by) {
    int64_t cost = 0;
    std::erase_if(awaiting_[by], [&](uint32_t t) {
      const OrderPoint& point = next_point(t);
      const uint32_t next = awaited(point);
      if (next == by) return false;
      if (next != kNone) {
        awaiting_[next].push_back(t);
        return true;
      }
      ThreadState& thread = threads_[t];
      thread.phase = Phase::point;
      const int64_t asleep = now_ - thread.asleep_since;
      steps_.push({now_ + wakes_after(point, asleep), t});
      if (!point.starts) cost += in_.sleep_costs.waker_pays(asleep);
      return true;
    });
    return cost;
  }

  const Edit* edit(uint32_t t) const {
    const ThreadState& thread = threads_[t];
    return !thread.edits.empty() && thread.edits.front().node == thread.node ? &thread.edits.front()
                                                                             : nullptr;
  }

  bool call(uint32_t t, const Node& node) {
    const Edit* change = edit(t);
    if (change && change->call_removed)
      return goes_on(t, now_ + std::max<int64_t>(change->own, 0), Phase::wait);
    if (node.work == Work::none) return goes_on(t, now_, Phase::wait);
    return queue(t, node);
  }

  // The call's own time, and the part of it before its work is handed over.
  int64_t own_of(uint32_t t, const Node& node) const {
    const Edit* change = edit(t);
    return change && change->own >= 0 ? change->own : node.own;
  }
  int64_t before_handover(uint32_t t, const Node& node) const {
    return std::min(handover(machine_, node).before, own_of(t, node));
  }

  bool queue(uint32_t t, const Node& node) {
    if (const auto place = gpu_.place_for(node)) return wait_for(t, *place, Phase::queue);
    return goes_on(t, now_ + before_handover(t, node), Phase::submit);
  }

  void submit(uint32_t t, const Node& node) {
    const Edit* change = edit(t);
    const bool moved = change && change->to_stream != kNone;
    threads_[t].stream = moved ? change->to_stream : node.stream;
    order(threads_[t], threads_[t].stream);
    if (!moved) return gpu_.submit(node, now_);
    Node elsewhere = node;
    elsewhere.stream = change->to_stream;
    gpu_.submit(elsewhere, now_);
  }

  // The stream waits for what the thread's waits would have waited for.
  void order(ThreadState& thread, uint32_t stream) {
    if (thread.orders.empty()) return;
    thread.ordered.resize(in_.streams);
    for (size_t& next = thread.ordered[stream]; next < thread.orders.size(); ++next)
      if (!gpu_.reached(thread.orders[next])) gpu_.submit_wait(stream, thread.orders[next], now_);
  }

  bool wait(uint32_t t, const Node& node) {
    const Edit* change = edit(t);
    if (node.waits == Waits::no) return goes_on(t, now_, Phase::woken);
    if (node.unseen()) gpu_.submit(node, now_);
    const bool narrowed = change && change->own_stream && threads_[t].stream != kNone;
    const Target target = narrowed ? Target{threads_[t].stream, gpu_.submitted()} : gpu_.target_of(node);
    if (change && change->use_node != kNone) {
      ThreadState& thread = threads_[t];
      for (size_t i = thread.next_moved; i < thread.moved.size(); ++i)
        if (thread.moved[i].edit == thread.node) {
          thread.moved[i].target = target;
          thread.moved[i].armed = true;
          ++thread.armed;
          break;
        }
      return goes_on(t, now_, Phase::woken);
    }
    if (change && change->on_gpu) threads_[t].orders.push_back(target);
    if (change && (change->wait_removed || change->on_gpu)) return goes_on(t, now_, Phase::woken);
    // A wait that finds nothing to wait for costs what it cost.
    if (gpu_.reached(target)) return goes_on(t, now_ + in_.idle_time(node), Phase::woken);
    return wait_for(t, target, Phase::woken);
  }

  int64_t own_behind(uint32_t t, const Node& node) const {
    const Edit* change = edit(t);
    return node.work != Work::none || (change && change->call_removed) ? 0 : node.own;
  }

  bool next(uint32_t t) {
    ThreadState& thread = threads_[t];
    if (edit(t)) thread.edits = thread.edits.subspan(1);
    bool idle = threads_.size() == 1 && gpu_.idle() && thread.armed == 0;
    if (idle && fill_ && (fill_->empty() || thread.node >= fill_->back().node + kCheckpointsApart))
      fill_->push_back({thread.node, now_});
    if (idle && use_) skip(thread);
    ++thread.node;
    thread.gone = thread.slept = 0;
    return goes_on(t, now_, Phase::gap);
  }

  // Idle here as in the unchanged run: what follows is the same up to the last idle point before the next
  // edit.
  void skip(ThreadState& thread) {
    auto by_node = [](const Checkpoint& point, uint32_t node) { return point.node < node; };
    while (next_point_ < use_->size() && (*use_)[next_point_].node < thread.node) ++next_point_;
    if (next_point_ == use_->size() || (*use_)[next_point_].node != thread.node) return;
    size_t target = use_->size() - 1;
    if (!thread.edits.empty()) {
      auto from = use_->begin() + static_cast<ptrdiff_t>(next_point_);
      auto behind = std::lower_bound(from, use_->end(), thread.edits.front().node, by_node);
      if (behind == from) return;
      target = static_cast<size_t>(behind - use_->begin()) - 1;
    }
    if (target <= next_point_) return;
    now_ += (*use_)[target].time - (*use_)[next_point_].time;
    thread.node = (*use_)[target].node;
    next_point_ = target;
  }

  // ---- waits

  bool wait_for(uint32_t t, const Target& target, Phase then) {
    ThreadState& thread = threads_[t];
    thread.phase = then;
    if (gpu_.reached(target)) return true;
    thread.waiting = target;
    blocked_.push_back(t);
    return false;
  }

  void wake() {
    std::erase_if(blocked_, [&](uint32_t t) {
      const ThreadState& thread = threads_[t];
      if (!gpu_.reached(thread.waiting)) return false;
      // A place in the launch queue is polled for, too: no thread is woken.
      const bool polls = thread.phase == Phase::queue ||
                         (thread.phase == Phase::woken && in_.threads[t].nodes[thread.node].polled);
      steps_.push({now_ + (polls ? 0 : machine_.wake_up), t});
      return true;
    });
  }

  const Schedule& in_;
  const Machine machine_;
  const Setting setting_;
  std::vector<Checkpoint>* fill_;
  const std::vector<Checkpoint>* use_;
  size_t next_point_ = 0;
  Gpu gpu_;
  std::priority_queue<Step, std::vector<Step>, std::greater<>> steps_;
  std::vector<ThreadState> threads_;
  int64_t now_ = 0;
  std::vector<uint32_t> blocked_;                // threads that wait for the GPU
  std::vector<std::vector<uint32_t>> awaiting_;  // ... for a thread to release them, by that thread
  Outcome outcome_;
};

}  // namespace

Outcome simulate(const Schedule& schedule, const std::vector<int64_t>& durations, const Machine& machine,
                 const Setting& setting, std::span<const Edit> edits, std::vector<Checkpoint>* fill,
                 const std::vector<Checkpoint>* use) {
  return Simulator(schedule, durations, machine, setting, edits, fill, use).run();
}

}  // namespace diogenes::replay
