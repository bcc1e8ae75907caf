#include "analysis/replay/recorded/make_schedule.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "analysis/benefit/graph.h"
#include "analysis/replay/thread_order.h"
#include "analysis/runs/polls.h"
#include "analysis/runs/recording_cost.h"
#include "base/in_background.h"

namespace diogenes::replay {
namespace {

constexpr int64_t kLongestIdleWait = 500;

class Numbers {
 public:
  uint32_t of(uint64_t key) {
    return numbers_.try_emplace(key, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  uint32_t find(uint64_t key) const {
    auto found = numbers_.find(key);
    return found == numbers_.end() ? kNone : found->second;
  }
  uint32_t size() const { return static_cast<uint32_t>(numbers_.size()); }

 private:
  std::unordered_map<uint64_t, uint32_t> numbers_;
};

Work work_of(const DriverFunction& function, Direction direction) {
  switch (function.role) {
    case Role::launch:
    case Role::graph_launch:
    case Role::host_function:
      return Work::kernel;
    case Role::fill:
    case Role::prefetch:
      return Work::on_device;
    case Role::transfer:
      if (direction == Direction::host_to_device) return Work::to_device;
      return direction == Direction::device_to_host ? Work::to_host : Work::on_device;
    case Role::event_record:
      return Work::record;
    case Role::stream_wait:
      return function.arguments == Arguments::stream_wait ? Work::wait_event : Work::none;
    default:
      return Work::none;
  }
}

bool on_gpu(Work work) { return work >= Work::kernel && work <= Work::on_device; }

bool in_host_memory(MemoryKind kind) { return kind == MemoryKind::pageable; }

class Builder {
 public:
  Builder(const Process& process, const SiteTable& sites, SleepCosts sleep_costs)
      : process_(process), sites_(sites) {
    origin_ = process.trace->process.started_ns;
    schedule_.sleep_costs = std::move(sleep_costs);
  }

  Schedule build() {
    for (uint32_t t = 0; t < process_.threads.size(); ++t) add_thread(t);
    schedule_.streams = streams_.size();
    schedule_.events = events_.size();
    schedule_.legacy = streams_.find(kLegacyStream);
    schedule_.independent.resize(streams_.size());
    for (uint32_t stream : independent_) schedule_.independent[stream] = true;
    schedule_.blocks = std::move(blocks_);
    schedule_.blocks.resize(streams_.size(), 0);
    schedule_.multiprocessors = static_cast<uint32_t>(std::max(process_.trace->process.multiprocessors, 0));
    schedule_.hooks_inside = std::max(process_.trace->process.inside_call_ns, 0);
    schedule_.hooks_inside_wait = std::max(process_.trace->process.inside_waiting_call_ns, 0);
    order_.place(schedule_, by_file_);
    if (process_.trace->process.drops[static_cast<int>(Drop::orders_full)] > 0)
      schedule_.order_complete = false;
    finish_schedule(schedule_);
    return std::move(schedule_);
  }

  void operator()(const OperationRecord& record, uint32_t sequence) {
    const Operation& operation = process_.threads[thread_].operations[sequence];
    const auto cost = recording_->of(sequence);
    recorded_ += cost.before;
    last_ = nullptr;
    while (next_poll_ < polls_.size() && polls_[next_poll_].last < sequence) ++next_poll_;
    const Poll* poll =
        next_poll_ < polls_.size() && polls_[next_poll_].first <= sequence ? &polls_[next_poll_] : nullptr;
    if (poll && sequence > poll->first) {
      recorded_ = cost.behind;
      return;
    }
    const DriverFunction* function = function_of(sites_[operation.site]);
    ThreadSchedule& thread = schedule_.threads.back();
    bool idle = operation.has(kFailed) || operation.has(kCapturing);
    Node node;
    node.begin = std::max(operation.begin.count - origin_, now_);
    node.own = (operation.own() - cost.inside).count;
    node.waited = operation.waited.count;
    node.operation = sequence;
    node.recording = narrow(recorded_);
    node.site = operation.site.value;
    if (poll) {
      node.polled = true;
      node.own = 0;
      node.waited = (process_.threads[thread_].operations[poll->last].end() - operation.begin).count;
    }
    node.work = !function || idle ? Work::none : work_of(*function, function->direction);
    node.stream = stream_of(record.stream, function);
    if (record.object != 0 && function &&
        (function->stream_of == StreamOf::event || function->arguments == Arguments::event ||
         function->arguments == Arguments::event_record || function->arguments == Arguments::stream_wait))
      node.event = events_.of(record.object);
    // An explicit synchronization that found all done may have returned before the driver's wait function.
    bool explicit_wait = function && function->role == Role::synchronize && !idle;
    node.waits = is_wait(operation) || explicit_wait || poll ? waits_of(function, node) : Waits::no;
    if (function && function->arguments == Arguments::stream_create && record.object == 1)
      independent_.push_back(node.stream);
    node.queue_full = on_gpu(node.work) && node.waits == Waits::no && operation.has(kQueueFull);
    if (node.waits == Waits::no && !node.queue_full) {
      node.own += node.waited;
      node.waited = 0;
    }
    now_ = std::max(now_, node.end());
    // What it was longer for the hooks inside it lies behind it now.
    const bool is_node = node.work != Work::none || node.waits != Waits::no;
    recorded_ = (is_node ? Nanoseconds{} : recorded_) + cost.inside + cost.behind;
    if (!is_node) return;
    if (on_gpu(node.work)) {
      node.gpu = schedule_.gpu_operations++;
      schedule_.copies.push_back({0, function->role == Role::transfer, false});
    }
    if (node.work == Work::kernel)
      note_blocks(node.stream, function->role == Role::launch ? record.object : 0);
    thread.nodes.push_back(node);
    last_ = &thread.nodes.back();
  }
  void operator()(const TransferRecord& record, uint32_t) {
    if (!last_ || last_->gpu == kNone) return;
    Copy& copy = schedule_.copies[last_->gpu];
    copy.bytes = record.bytes;
    copy.pageable = in_host_memory(record.destination_kind) || in_host_memory(record.source_kind);
    auto direction = static_cast<Direction>(record.direction);
    if (copy.is_copy && direction != Direction::unknown)
      last_->work = direction == Direction::host_to_device   ? Work::to_device
                    : direction == Direction::device_to_host ? Work::to_host
                                                             : Work::on_device;
  }
  void operator()(const OrderRecord& record, uint32_t) {
    ThreadSchedule& thread = schedule_.threads.back();
    schedule_.order_recorded = true;
    order_.add(record, static_cast<uint32_t>(schedule_.threads.size() - 1), origin_);
    // A thread without calls of the driver.
    if (process_.threads[thread_].operations.empty() && now_ == 0)
      thread.start = std::max<int64_t>(record.at_ns - origin_, 0);
    now_ = std::max(now_, record.at_ns - origin_);
  }
  template <typename Record>
  void operator()(const Record&, uint32_t) {}

 private:
  void note_blocks(uint32_t stream, uint32_t blocks) {
    if (blocks_.size() <= stream) blocks_.resize(stream + 1, 0);
    blocks_[stream] = std::max(blocks_[stream], blocks == 0 ? UINT32_MAX : blocks);
  }

  static uint32_t narrow(Nanoseconds time) {
    return static_cast<uint32_t>(std::min<int64_t>(time.count, UINT32_MAX));
  }

  void add_thread(uint32_t t) {
    const Thread& thread = process_.threads[t];
    if (!thread.operations.empty() &&
        std::all_of(thread.operations.begin(), thread.operations.end(),
                    [](const Operation& operation) { return operation.has(kDriverThread); }))
      return;
    thread_ = t;
    recorded_ = {};
    recording_.emplace(process_, thread);
    polls_ = polls_of(thread.operations, sites_);
    next_poll_ = 0;
    ThreadSchedule& out = schedule_.threads.emplace_back();
    out.thread = t;
    by_file_[thread.ordinal] = static_cast<uint32_t>(schedule_.threads.size() - 1);
    out.main = thread.main;
    now_ = 0;
    if (!thread.operations.empty())
      now_ = std::max<int64_t>(thread.operations.front().begin.count - origin_, 0);
    out.start = now_;
    out.nodes.reserve(thread.operations.size());
    process_.trace->threads[t].visit(*this);
    process_.trace->threads[t].release_pages();
    // Most operations are nodes: the copy would take more than it gives back.
    if (out.nodes.capacity() - out.nodes.size() > out.nodes.size() / 4) out.nodes.shrink_to_fit();
    out.exit = now_;
    if (out.main) {
      out.start = 0;
      out.exit = std::max(now_, process_.trace->process.ended_ns - origin_);
    }
    out.recording_behind = narrow(recorded_);
  }

  uint32_t stream_of(uint32_t number, const DriverFunction* function) {
    if (number == kPerThreadStream || (function && function->stream_of == StreamOf::per_thread))
      return streams_.of((uint64_t{1} << 32) + thread_);
    if (number != kNoStream) return streams_.of(number);
    return streams_.of(kLegacyStream);
  }

  Waits waits_of(const DriverFunction* function, const Node& node) const {
    if (on_gpu(node.work)) return Waits::own;
    if (!function || (function->role != Role::synchronize && function->role != Role::query))
      return Waits::context;
    switch (function->stream_of) {
      case StreamOf::legacy:
      case StreamOf::per_thread:
      case StreamOf::argument:
      case StreamOf::argument_ptsz:
        return Waits::stream;
      case StreamOf::event:
        return node.event == kNone ? Waits::context : Waits::event;
      default:
        return function->arguments == Arguments::event && node.event != kNone ? Waits::event : Waits::context;
    }
  }

  const Process& process_;
  const SiteTable& sites_;
  int64_t origin_ = 0, now_ = 0;
  uint32_t thread_ = 0;
  std::optional<RecordingCost> recording_;  // of that thread
  std::vector<Poll> polls_;                 // the same
  size_t next_poll_ = 0;
  Nanoseconds recorded_;  // since the last node
  Node* last_ = nullptr;
  Numbers streams_, events_;
  ThreadOrder order_;
  std::unordered_map<uint32_t, uint32_t> by_file_;  // the schedule's threads
  std::vector<uint32_t> independent_;
  std::vector<uint32_t> blocks_;
  Schedule schedule_;
};

// Visits the waits for which no work is known that they could have waited for.
template <typename Visit>
void for_waits_without_work(Schedule& schedule, Visit visit) {
  std::vector<Node*> order;
  size_t count = 0;
  for (const ThreadSchedule& thread : schedule.threads) count += thread.nodes.size();
  order.reserve(count);
  for (ThreadSchedule& thread : schedule.threads)
    for (Node& node : thread.nodes) order.push_back(&node);
  if (schedule.threads.size() > 1)
    std::stable_sort(order.begin(), order.end(), [](Node* a, Node* b) { return a->end() < b->end(); });
  constexpr int64_t kNever = INT64_MIN;
  std::vector<int64_t> submitted(schedule.streams, kNever), covered(schedule.streams, kNever),
      covering(schedule.streams, kNever);
  std::vector<uint32_t> recorded(schedule.events, kNone);
  for (Node* node : order) {
    if (node->gpu != kNone) submitted[node->stream] = std::max(submitted[node->stream], node->submitted());
    if (node->work == Work::record && node->event != kNone) recorded[node->event] = node->stream;
    if (node->waits == Waits::no) continue;
    uint32_t stream = node->waits == Waits::event ? recorded[node->event] : node->stream;
    bool all = node->waits == Waits::context || stream == kNone || stream == schedule.legacy;
    bool any = false;
    int64_t begin = node->work == Work::none ? node->begin : node->begin + node->own;
    for (uint32_t s = 0; s < schedule.streams; ++s) {
      if (!all && s != stream) continue;
      // Still there, or waited for by another thread when this wait began.
      any |= submitted[s] != kNever && (submitted[s] >= covered[s] || covering[s] > begin);
      covered[s] = std::max(covered[s], begin + 1);
      covering[s] = std::max(covering[s], node->end());
    }
    if (!any && node->work == Work::none) visit(*node);
  }
}

// What waits take that find nothing, and the work that was not seen of those that waited all the same.
void find_idle_waits(Schedule& schedule) {
  int64_t shortest = kLongestIdleWait, longest_for_nothing = 0;
  for (const ThreadSchedule& thread : schedule.threads)
    for (const Node& node : thread.nodes)
      if (node.waits != Waits::no && node.waited > 0) shortest = std::min(shortest, node.waited);
  std::vector<int64_t> for_nothing;
  std::vector<Node*> unseen;
  for_waits_without_work(schedule, [&](Node& node) {
    if (node.waited > kLongestWaitForNothing) return unseen.push_back(&node);
    for_nothing.push_back(node.waited);
    longest_for_nothing = std::max(longest_for_nothing, node.waited);
  });
  schedule.idle_wait = std::max(std::min(kLongestIdleWait, shortest + shortest / 2), longest_for_nothing);
  if (!for_nothing.empty()) {
    auto middle = for_nothing.begin() + static_cast<ptrdiff_t>(for_nothing.size() / 2);
    std::nth_element(for_nothing.begin(), middle, for_nothing.end());
    schedule.idle_cost = *middle;
  }
  for (Node* node : unseen) {
    node->gpu = schedule.gpu_operations++;
    schedule.copies.emplace_back();
  }
}

// The driver brings a copy to pageable memory into memory of its own first, and copies it from there when it is complete. So
// what the call takes longer than to hand it over lies behind the GPU's work, and is part of the copy: nothing that comes
// before it in the stream can go on meanwhile.
void complete_pageable_copies(Schedule& schedule) {
  for (ThreadSchedule& thread : schedule.threads)
    for (Node& node : thread.nodes) {
      if (node.work != Work::to_host || node.waits != Waits::own || !schedule.copies[node.gpu].pageable)
        continue;
      const int64_t behind = std::max<int64_t>(node.own - kBeforePageableCopy, 0);
      node.own -= behind;
      node.waited += behind;
    }
}

}  // namespace

void finish_schedule(Schedule& schedule) {
  schedule.end = 0;
  schedule.main_thread = kNone;
  for (uint32_t t = 0; t < schedule.threads.size(); ++t) {
    ThreadSchedule& thread = schedule.threads[t];
    if (thread.main) schedule.main_thread = t;
    if (thread.counts()) schedule.end = std::max(schedule.end, thread.exit);
  }
  find_idle_waits(schedule);
  complete_pageable_copies(schedule);
  if (!schedule.order_recorded) infer_order(schedule);
}

bool is_gpu_work(const DriverFunction& function) { return on_gpu(work_of(function, function.direction)); }

Schedule schedule_of(const Process& process, const SiteTable& sites, SleepCosts sleep_costs) {
  return Builder(process, sites, std::move(sleep_costs)).build();
}

Schedules schedules_of(const Run& run, const SiteTable& sites, const SleepCosts& sleep_costs) {
  Schedules schedules(run.processes.size());
  each_on_two_threads(schedules.size(), [&](size_t p) {
    schedules[p] = std::make_shared<const Schedule>(schedule_of(run.processes[p], sites, sleep_costs));
  });
  return schedules;
}

}  // namespace diogenes::replay
