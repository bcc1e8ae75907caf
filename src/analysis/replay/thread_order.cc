#include "analysis/replay/thread_order.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace diogenes::replay {
namespace {

constexpr int64_t kLongGap = 4;   // times the median: in which a thread may have been joined
constexpr int64_t kSoon = 4;      // the gap goes on for this part of what it took until then, at most
constexpr size_t kLookBack = 64;  // releases of one object before an acquire

int64_t gap_before(const std::vector<Node>& nodes, size_t i) {
  return nodes[i].begin - (i > 0 ? nodes[i - 1].end() : 0);
}

int64_t median_gap(const std::vector<Node>& nodes) {
  if (nodes.empty()) return 0;
  std::vector<int64_t> gaps;
  for (size_t i = 0; i < nodes.size(); ++i) gaps.push_back(gap_before(nodes, i));
  std::nth_element(gaps.begin(), gaps.begin() + static_cast<ptrdiff_t>(gaps.size() / 2), gaps.end());
  return gaps[gaps.size() / 2];
}

// Could the acquire have come before the release in another run? Locks are taken in any order. But who slept until
// somebody released it would have done so again.
bool is_firm(OrderObject object, bool blocked) {
  return blocked || (object != OrderObject::mutex && object != OrderObject::read_write_lock);
}

// Sorted by node and time, with what each acquire names moved along. Where both are at one time, releases come first:
// nothing lies between them.
void sort_points(Schedule& schedule) {
  std::vector<std::vector<uint32_t>> place(schedule.threads.size());
  for (size_t t = 0; t < schedule.threads.size(); ++t) {
    auto& points = schedule.threads[t].points;
    std::vector<uint32_t> order(points.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      auto key = [&](const OrderPoint& point) { return std::tuple(!point.starts, point.node, point.at); };
      return key(points[a]) < key(points[b]);
    });
    place[t].resize(points.size());
    std::vector<OrderPoint> sorted;
    sorted.reserve(points.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      place[t][order[i]] = i;
      sorted.push_back(points[order[i]]);
    }
    points = std::move(sorted);
  }
  for (OrderPoint::From& from : schedule.releases) from.point = place[from.thread][from.point];
}

// Puts points into the threads of a schedule.
class Placing {
 public:
  explicit Placing(Schedule& schedule) : schedule_(schedule), meets_(schedule.threads.size(), false) {}

  void release(OrderObject object, uint64_t address, uint32_t sequence, uint32_t thread, int64_t at) {
    objects_[{object, address}].push_back({sequence, thread, add_release(thread, at), at});
  }

  // The last release that an acquire follows: when it was, or -1; and which, where it has a point.
  struct Last {
    int64_t at = -1;
    OrderPoint::From release{kNone, 0};
  };

  // After the last release of each other thread, up to `sequence`.
  Last follow_all(OrderObject object, uint64_t address, uint32_t sequence, uint32_t thread,
                  OrderPoint& point) {
    Last last;
    const auto& releases = objects_[{object, address}];
    for (size_t i = releases.size(), seen = 0; i-- > 0 && seen < kLookBack; ++seen) {
      const Released& release = releases[i];
      if (release.sequence > sequence || release.thread == thread) continue;
      if (release.at > last.at) last = {release.at, {release.thread, release.point}};
      if (!is_news(thread, release.thread, release.at)) continue;
      schedule_.releases.push_back({release.thread, release.point});
      ++point.count;
      if (object == OrderObject::barrier) meets_[thread] = meets_[release.thread] = true;
    }
    return last;
  }

  Last follow(uint32_t releasing, int64_t at, uint32_t thread, OrderPoint& point) {
    meets_[thread] = meets_[releasing] = true;
    if (releasing == thread || !is_news(thread, releasing, at)) return {at};
    const OrderPoint::From release{releasing, add_release(releasing, at)};
    schedule_.releases.push_back(release);
    ++point.count;
    return {at, release};
  }

  void meets(uint32_t thread) { meets_[thread] = true; }

  void acquire(uint32_t thread, OrderPoint point, const OrderPoint::From& woken_by) {
    ThreadSchedule& to = schedule_.threads[thread];
    if (point.starts) to.start = point.at;
    point.node = node_at(to, point.at);
    point.usual = point.latency;
    if (point.slept > 0) {
      point.asleep = std::max<int64_t>(point.slept - point.latency, 0);
      sleeps_.push_back({point.latency, point.asleep});
      if (woken_by.thread != kNone)
        schedule_.threads[woken_by.thread].points[woken_by.point].waking +=
            schedule_.sleep_costs.waker_pays(point.asleep);
    }
    schedule_.locks_taken_free |= !point.firm;
    to.points.push_back(point);
  }

  void finish() {
    schedule_.order_complete = schedule_.order_recorded;
    for (size_t t = 0; t < schedule_.threads.size(); ++t)
      if (!schedule_.threads[t].nodes.empty() && !meets_[t]) schedule_.order_complete = false;
    const Sleep usual = middle_of(sleeps_);
    for (ThreadSchedule& thread : schedule_.threads) {
      find_usual(thread);
      for (OrderPoint& point : thread.points)
        if (point.acquires && point.slept == 0 && !point.starts)
          point.latency = point.usual = usual.latency, point.asleep = usual.asleep;
    }
    sort_points(schedule_);
  }

 private:
  struct Released {
    uint32_t sequence, thread, point;
    int64_t at;
  };

  struct Sleep {
    int64_t latency = 0, asleep = -1;  // as in OrderPoint
    auto operator<=>(const Sleep&) const = default;
  };

  static Sleep middle_of(std::vector<Sleep>& sleeps) {
    if (sleeps.empty()) return {};
    const auto middle = sleeps.begin() + static_cast<ptrdiff_t>(sleeps.size() / 2);
    std::nth_element(sleeps.begin(), middle, sleeps.end());
    return *middle;
  }

  // What a wake-up is late beyond the thread's median, as far as their lengths do not tell it.
  void find_usual(ThreadSchedule& thread) const {
    std::vector<Sleep> sleeps;
    for (const OrderPoint& point : thread.points)
      if (point.slept > 0 && !point.starts) sleeps.push_back({point.latency, point.asleep});
    const Sleep middle = middle_of(sleeps);
    for (OrderPoint& point : thread.points) {
      if (point.slept == 0 || point.starts) continue;
      const int64_t of_length = middle.latency + schedule_.sleep_costs.wakes_after(point.asleep) -
                                schedule_.sleep_costs.wakes_after(middle.asleep);
      point.usual = std::clamp<int64_t>(of_length, 0, point.latency);
    }
  }

  static uint32_t node_at(const ThreadSchedule& thread, int64_t time) {
    return static_cast<uint32_t>(
        std::lower_bound(thread.nodes.begin(), thread.nodes.end(), time,
                         [](const Node& node, int64_t value) { return node.begin < value; }) -
        thread.nodes.begin());
  }
  uint32_t add_release(uint32_t thread, int64_t at) {
    ThreadSchedule& in = schedule_.threads[thread];
    in.points.push_back({.node = node_at(in, at), .at = at});
    return static_cast<uint32_t>(in.points.size() - 1);
  }
  // Does the thread not know yet that the other one has come so far?
  bool is_news(uint32_t thread, uint32_t other, int64_t at) {
    int64_t& known = known_.try_emplace(uint64_t{thread} << 32 | other, -1).first->second;
    if (known >= at) return false;
    known = at;
    return true;
  }

  Schedule& schedule_;
  std::map<std::pair<OrderObject, uint64_t>, std::vector<Released>> objects_;
  std::unordered_map<uint64_t, int64_t> known_;  // by acquiring and releasing thread
  std::vector<Sleep> sleeps_;
  std::vector<bool> meets_;  // others, between its start and its end
};

}  // namespace

void ThreadOrder::add(const OrderRecord& record, uint32_t thread, int64_t origin) {
  if (record.object == OrderObject::asleep_at_end) return;
  Event event{};
  event.object = record.object;
  event.acquires = (record.flags & kAcquires) != 0;
  event.names_release = event.acquires && (record.flags & kNamesRelease) != 0;
  event.sequence = record.sequence;
  event.thread = thread;
  event.file = record.thread;
  event.address = event.names_release ? 0 : record.address;
  event.at = std::max<int64_t>(record.at_ns - origin, 0);
  event.slept = (record.flags & kBlocked) != 0 ? std::min(int64_t{record.blocked_us} * 1000, event.at) : 0;
  if (event.names_release)
    event.released = std::clamp<int64_t>(static_cast<int64_t>(record.address) - origin, 0, event.at);
  events_.push_back(event);
}

void ThreadOrder::place(Schedule& schedule, const std::unordered_map<uint32_t, uint32_t>& by_file) {
  const auto with_nodes = std::count_if(schedule.threads.begin(), schedule.threads.end(),
                                        [](const ThreadSchedule& thread) { return !thread.nodes.empty(); });
  if (with_nodes < 2) events_.clear();
  std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
    return std::pair(a.at, a.acquires) < std::pair(b.at, b.acquires);
  });
  // What a thread does that neither calls the driver nor is let go on by others is not known: it may have slept until it
  // was told to end. Who waits for its end waits as long as it did.
  std::vector<bool> known(schedule.threads.size());
  for (size_t t = 0; t < known.size(); ++t) known[t] = !schedule.threads[t].nodes.empty();
  for (const Event& event : events_)
    if (event.acquires && event.object != OrderObject::thread_start) known[event.thread] = true;
  Placing placing(schedule);
  for (const Event& event : events_) {
    if (!known[event.thread]) continue;
    if (event.object == OrderObject::thread_end && !event.acquires)
      schedule.threads[event.thread].exit = std::max(schedule.threads[event.thread].exit, event.at);
    if (!event.acquires) {
      placing.release(event.object, event.address, event.sequence, event.thread, event.at);
      continue;
    }
    OrderPoint point;
    point.acquires = true;
    point.at = event.at;
    point.starts = event.object == OrderObject::thread_start;
    point.firm = is_firm(event.object, event.slept > 0);
    point.first = static_cast<uint32_t>(schedule.releases.size());
    Placing::Last last{event.released};
    if (!event.names_release) {
      last = placing.follow_all(event.object, event.address, event.sequence, event.thread, point);
    } else if (const auto found = by_file.find(event.file); found != by_file.end()) {
      last = placing.follow(found->second, event.released, event.thread, point);
    } else {
      point.not_before = event.released;
      placing.meets(event.thread);
    }
    if (point.count == 0 && point.not_before == 0) continue;
    // A sleep that began behind the release was for something else.
    if (last.at >= event.at - event.slept) point.slept = event.slept;
    point.latency = event.at - last.at;
    placing.acquire(event.thread, point, last.release);
  }
  events_ = {};
  placing.finish();
}

void infer_order(Schedule& schedule) {
  if (schedule.main_thread == kNone || schedule.threads.size() < 2) return;
  ThreadSchedule& main = schedule.threads[schedule.main_thread];
  const auto& nodes = main.nodes;
  const int64_t long_gap = kLongGap * median_gap(nodes);
  auto before = [&](int64_t time) {
    return static_cast<uint32_t>(
        std::upper_bound(nodes.begin(), nodes.end(), time,
                         [](int64_t value, const Node& node) { return value < node.end(); }) -
        nodes.begin());
  };
  std::map<uint32_t, std::vector<uint32_t>> joined;  // before the node: which threads
  for (uint32_t t = 0; t < schedule.threads.size(); ++t) {
    ThreadSchedule& thread = schedule.threads[t];
    if (t == schedule.main_thread) continue;
    if (const uint32_t first = before(thread.start); first > 0) {
      OrderPoint start;
      start.starts = start.acquires = true;
      start.first = static_cast<uint32_t>(schedule.releases.size());
      start.count = 1;
      start.at = thread.start;
      start.latency = thread.start - nodes[first - 1].end();
      schedule.releases.push_back({schedule.main_thread, static_cast<uint32_t>(main.points.size())});
      main.points.push_back({.node = first, .at = nodes[first - 1].end()});
      thread.points.insert(thread.points.begin(), start);
    }
    const uint32_t next = before(thread.exit);
    // The main thread waits for it there, if it does nothing else then and for long. And it soon goes on when the
    // thread has ended: another long gap would go on for as long as it likes.
    bool in_gap = next >= nodes.size();
    if (!in_gap && nodes[next].begin >= thread.exit && gap_before(nodes, next) >= long_gap) {
      const int64_t began = next > 0 ? nodes[next - 1].end() : 0;
      in_gap = kSoon * (nodes[next].begin - thread.exit) <= thread.exit - began;
    }
    if (in_gap && thread.exit <= main.exit) joined[next].push_back(t);
  }
  for (const auto& [node, threads] : joined) {
    OrderPoint join;
    join.acquires = true;
    join.node = node;
    join.first = static_cast<uint32_t>(schedule.releases.size());
    for (const uint32_t t : threads) {
      ThreadSchedule& thread = schedule.threads[t];
      join.at = std::max(join.at, thread.exit);
      schedule.releases.push_back({t, static_cast<uint32_t>(thread.points.size())});
      thread.points.push_back({.node = static_cast<uint32_t>(thread.nodes.size()), .at = thread.exit});
      ++join.count;
    }
    join.slept = join.at - (node > 0 ? nodes[node - 1].end() : main.start);
    main.points.push_back(join);
  }
  sort_points(schedule);
}

}  // namespace diogenes::replay
