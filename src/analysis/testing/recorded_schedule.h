// Test support: a schedule as a literal, with the times that were recorded and the GPU durations behind them.
// Units: microseconds. L = launch(GPU time, call cost), S = sync(waited), W = work.
#pragma once
#include <map>

#include "analysis/replay/process.h"
#include "analysis/replay/recorded/make_schedule.h"
#include "analysis/replay/simulator.h"
#include "analysis/replay/thread_order.h"

namespace diogenes::testing {

class Recorded {
 public:
  Recorded& on_thread(uint32_t thread, double start_us = 0) {
    thread_ = thread;
    while (schedule_.threads.size() <= thread) {
      replay::ThreadSchedule& fresh = schedule_.threads.emplace_back();
      fresh.thread = static_cast<uint32_t>(schedule_.threads.size() - 1);
      fresh.main = fresh.thread == 0;
      clocks_.push_back(ns(start_us));
      fresh.start = fresh.main ? 0 : ns(start_us);
    }
    return *this;
  }
  Recorded& on_stream(uint32_t stream) {
    stream_ = stream;
    schedule_.streams = std::max(schedule_.streams, stream + 1);
    return *this;
  }
  Recorded& at_site(uint32_t site) {
    site_ = site;
    return *this;
  }
  // What was taken out of every call's own time.
  Recorded& with_hooks_inside(double us) {
    schedule_.hooks_inside = schedule_.hooks_inside_wait = ns(us);
    return *this;
  }
  Recorded& with_sleep_costs(std::vector<SleepCost> costs) {
    schedule_.sleep_costs = replay::SleepCosts(std::move(costs));
    return *this;
  }
  Recorded& work(double us) {
    on_thread(thread_);
    clocks_[thread_] += ns(us);
    return *this;
  }
  Recorded& launch(double gpu_us, double own_us = 0, double queue_us = 0) {
    replay::Node& node = add(replay::Work::kernel, replay::Waits::no, own_us, queue_us);
    node.queue_full = queue_us > 0;
    return on_gpu(node, gpu_us, {});
  }
  Recorded& copy(replay::Work direction, double gpu_us, double own_us, uint64_t bytes = 0,
                 double waited_us = -1, bool pageable = false) {
    auto waits = waited_us >= 0 ? replay::Waits::own : replay::Waits::no;
    replay::Node& node = add(direction, waits, own_us, std::max(waited_us, 0.0));
    return on_gpu(node, gpu_us, {bytes, true, pageable});
  }
  Recorded& sync(double waited_us, double own_us = 0, replay::Waits waits = replay::Waits::context) {
    add(replay::Work::none, waits, own_us, waited_us);
    return *this;
  }
  Recorded& record(uint32_t event) { return marker(replay::Work::record, event); }
  Recorded& wait_event(uint32_t event) { return marker(replay::Work::wait_event, event); }

  // The thread releases a lock or signals, or arrives at a barrier (`round`, from 1; `place` in it, from 1).
  Recorded& releases(uint32_t object) {
    on_thread(thread_);
    released_[object] = {thread_, clocks_[thread_]};
    return *this;
  }
  Recorded& arrives(uint32_t barrier, uint32_t place) {
    on_thread(thread_);
    return order(OrderObject::barrier, 0, place, barrier, clocks_[thread_]);
  }
  // It goes on behind that, having slept until now. `file`: of who released it, where that is not a thread of these.
  Recorded& takes(uint32_t object, double slept_us, OrderObject kind = OrderObject::condition,
                  uint32_t file = 0xffffffff) {
    clocks_[thread_] += ns(slept_us);
    const auto [thread, at] = released_.at(object);
    order(kind, kNamesRelease, 0, static_cast<uint64_t>(at), clocks_[thread_], slept_us);
    orders_.back().second.thread = file == 0xffffffff ? thread : file;
    return *this;
  }
  // A thread makes thread `number`; that one begins.
  Recorded& spawns(uint32_t number) {
    on_thread(thread_);
    return order(OrderObject::thread_start, kForced, 1, number, clocks_[thread_]);
  }
  Recorded& begins(uint32_t number) {
    on_thread(thread_);
    return order(OrderObject::thread_start, kForced, 1, number, clocks_[thread_], 0);
  }
  Recorded& leaves(uint32_t barrier, uint32_t places, double slept_us) {
    clocks_[thread_] += ns(slept_us);
    return order(OrderObject::barrier, kForced, places, barrier, clocks_[thread_], slept_us);
  }

  replay::Schedule schedule() const {
    replay::Schedule result = schedule_;
    for (size_t t = 0; t < result.threads.size(); ++t) result.threads[t].exit = clocks_[t];
    if (!orders_.empty()) {
      replay::ThreadOrder order;
      std::unordered_map<uint32_t, uint32_t> by_file;
      for (uint32_t t = 0; t < result.threads.size(); ++t) by_file[t] = t;
      for (const auto& [thread, record] : orders_) order.add(record, thread, 0);
      result.order_recorded = true;
      order.place(result, by_file);
    }
    finish_schedule(result);
    return result;
  }
  const std::vector<int64_t>& durations() const { return durations_; }
  // Only durations are known, not when: latencies stay as assumed.
  double recorded_us() const { return static_cast<double>(schedule().end) / 1000; }

  // An edit of the N-th call (from 0) of a thread.
  static replay::Edit remove_wait(uint32_t node, uint32_t thread = 0) {
    return {.thread = thread, .node = node, .wait_removed = true};
  }
  static replay::Edit remove_call(uint32_t node, uint32_t thread = 0) {
    return {.thread = thread, .node = node, .wait_removed = true, .call_removed = true};
  }
  replay::Edit move(uint32_t node, double after_us, uint32_t thread = 0) const {
    replay::Edit edit{.thread = thread, .node = node};
    const replay::ThreadSchedule& in = schedule_.threads[thread];
    place_use(in, in.nodes[node].end() + ns(after_us), edit);
    return edit;
  }

  // With the given durations.
  double end_us(const std::vector<replay::Edit>& edits, replay::Machine machine = {},
                replay::Setting setting = {}) const {
    return static_cast<double>(simulate(schedule(), durations_, machine, setting, edits).end) / 1000;
  }
  double benefit_us(const std::vector<replay::Edit>& edits, replay::Machine machine = {},
                    replay::Setting setting = {}) const {
    return end_us({}, machine, setting) - end_us(edits, machine, setting);
  }
  // Without.
  Estimate estimate(const std::vector<replay::Edit>& edits, replay::Machine machine = {}) const {
    return replay::ProcessReplay(schedule(), {}, machine).estimate(edits);
  }
  // With GPU times that tell the durations, of the same run or of another one.
  Estimate estimate_with_gpu_times(const std::vector<replay::Edit>& edits, replay::Machine machine = {},
                                   double recording_us = 0) const {
    replay::KnownTimes known;
    known.any = known.all = known.calibrated = true;
    for (int64_t duration : durations_) known.of.push_back({0, duration});
    replay::Schedule schedule = this->schedule();
    for (replay::ThreadSchedule& thread : schedule.threads)
      for (replay::Node& node : thread.nodes) node.recording = static_cast<uint32_t>(ns(recording_us));
    return replay::ProcessReplay(std::move(schedule), known, machine).estimate(edits);
  }

 private:
  static int64_t ns(double us) { return static_cast<int64_t>(us * 1000 + 0.5); }

  Recorded& order(OrderObject kind, int flags, uint32_t sequence, uint64_t address, int64_t at,
                  double slept_us = -1) {
    OrderRecord record{};
    record.type = RecordType::order;
    record.object = kind;
    record.flags =
        static_cast<uint8_t>(flags | (slept_us >= 0 ? kAcquires : 0) | (slept_us > 0 ? kBlocked : 0));
    record.sequence = sequence;
    record.at_ns = at;
    record.address = address;
    record.blocked_us = static_cast<uint32_t>(std::max(slept_us, 0.0));
    record.thread = thread_;
    orders_.emplace_back(thread_, record);
    return *this;
  }

  replay::Node& add(replay::Work work, replay::Waits waits, double own_us, double waited_us) {
    on_thread(thread_);
    on_stream(stream_);
    replay::Node node;
    node.begin = clocks_[thread_];
    node.own = ns(own_us);
    node.waited = ns(waited_us);
    node.stream = stream_;
    node.work = work;
    node.waits = waits;
    node.site = site_;
    auto& nodes = schedule_.threads[thread_].nodes;
    node.operation = static_cast<uint32_t>(nodes.size());
    nodes.push_back(node);
    clocks_[thread_] = node.end();
    return nodes.back();
  }
  Recorded& on_gpu(replay::Node& node, double gpu_us, replay::Copy copy) {
    node.gpu = schedule_.gpu_operations++;
    schedule_.copies.push_back(copy);
    durations_.push_back(ns(gpu_us));
    return *this;
  }
  Recorded& marker(replay::Work work, uint32_t event) {
    add(work, replay::Waits::no, 0, 0).event = event;
    schedule_.events = std::max(schedule_.events, event + 1);
    return *this;
  }

  replay::Schedule schedule_;
  std::map<uint32_t, std::pair<uint32_t, int64_t>> released_;  // by object: thread, when
  std::vector<std::pair<uint32_t, OrderRecord>> orders_;
  std::vector<int64_t> clocks_, durations_;
  uint32_t thread_ = 0, stream_ = 0, site_ = replay::kNone;
};

}  // namespace diogenes::testing
