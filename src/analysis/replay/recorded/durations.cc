#include "analysis/replay/recorded/durations.h"

#include <algorithm>
#include <array>

namespace diogenes::replay {
namespace {

// Time of a copy by its size: a line for each direction and kind of memory.
class CopyTimes {
 public:
  CopyTimes(const Schedule& schedule, const Machine& machine, const std::vector<NodeAt>& order) {
    std::array<std::vector<std::pair<double, double>>, kClasses> samples;
    bool idle = false;  // nothing was started since a wait that covers everything
    for (NodeAt at : order) {
      const Node& node = schedule.threads[at.thread].nodes[at.node];
      bool waits = node.waits != Waits::no;
      if (node.on_gpu() && schedule.copies[node.gpu].is_copy && node.waits == Waits::own && idle &&
          schedule.really_waited(node)) {
        auto time = static_cast<double>(node.waited - machine.launch_latency - machine.wake_up);
        auto bytes = static_cast<double>(schedule.copies[node.gpu].bytes);
        samples[class_of(node.work, schedule.copies[node.gpu])].push_back({bytes, std::max(time, 0.0)});
      } else if (node.on_gpu()) {
        idle = false;
      }
      if (waits && schedule.threads.size() == 1 && (node.waits == Waits::context || schedule.streams < 2))
        idle = true;
    }
    for (size_t i = 0; i < kClasses; ++i) fit(lines_[i], samples[i]);
  }

  int64_t of(Work work, const Copy& copy) const {
    const Line& line = lines_[class_of(work, copy)];
    return std::max<int64_t>(
        static_cast<int64_t>(line.base + line.per_byte * static_cast<double>(copy.bytes)), 0);
  }

 private:
  static constexpr size_t kClasses = 6;
  struct Line {
    double base = 0, per_byte = 0;
  };
  static size_t class_of(Work work, const Copy& copy) {
    return (work == Work::to_device ? 0 : work == Work::to_host ? 2 : 4) + (copy.pageable ? 1 : 0);
  }

  static void fit(Line& line, const std::vector<std::pair<double, double>>& samples) {
    if (samples.empty()) return;
    double n = static_cast<double>(samples.size()), x = 0, y = 0, xx = 0, xy = 0;
    for (auto [bytes, time] : samples) x += bytes / n, y += time / n;
    for (auto [bytes, time] : samples) xx += (bytes - x) * (bytes - x), xy += (bytes - x) * (time - y);
    if (xx > 0 && xy > 0) line.per_byte = xy / xx;
    line.base = y - line.per_byte * x;
    if (line.base < 0) line = {0, x > 0 ? y / x : 0};
  }

  // Measured on driver 580 and an H200 (docs/measurements.md): pinned about 57 GB/s, pageable about 14 GB/s.
  std::array<Line, kClasses> lines_ = {
      {{1500, 0.0176}, {1500, 0.072}, {1500, 0.0178}, {1500, 0.077}, {1500, 0.0005}, {1500, 0.0176}}};
};

struct Waiting {
  uint32_t gpu = 0;
  int64_t handed_over = 0;
  int64_t submitted = 0;  // from then on it can start
  int64_t time = 0;
  bool unknown = false;  // a kernel without a time
  Work work = Work::kernel;
};

constexpr int64_t kShortestOutlier = 10'000;
constexpr size_t kMostOutliers = 8;  // in what one wait covers

class Filler {
 public:
  Filler(const Schedule& schedule, const KnownTimes& known, const Machine& machine, Fill fill)
      : in_(schedule),
        known_(known),
        machine_(machine),
        fill_(fill),
        order_(in_time_order(schedule)),
        copies_(schedule, machine, order_),
        durations_(schedule.gpu_operations, 0),
        streams_(schedule.streams),
        recorded_(schedule.events) {}

  std::vector<int64_t> fill() {
    for (NodeAt at : order_) visit(in_.threads[at.thread].nodes[at.node]);
    close_all(in_.end, in_.end, false, false);
    return std::move(durations_);
  }

 private:
  struct Stream {
    std::vector<Waiting> waiting;
    size_t count = 0;  // submitted so far
    int64_t idle_from = INT64_MIN / 2;
  };

  void visit(const Node& node) {
    if (node.on_gpu() && node.queue_full && in_.really_waited(node)) {
      Stream& stream = streams_[node.stream];
      size_t done = stream.count - stream.waiting.size();
      if (stream.count + 1 > done + machine_.queue_depth)
        close(node.stream, stream.count + 1 - done - machine_.queue_depth, node.begin + node.waited, true);
    }
    if (node.on_gpu()) submit(node);
    if (node.work == Work::record && node.event != kNone)
      recorded_[node.event] = {node.stream, handed_over(machine_, node)};
    if (node.waits == Waits::no) return;
    bool real = in_.really_waited(node);
    int64_t begin = node.end() - node.waited - (node.work == Work::none ? node.own : 0);
    int64_t end = real ? begin + node.waited - (node.polled ? 0 : machine_.wake_up) : begin;
    if (node.waits == Waits::event) {
      auto [stream, time] = recorded_[node.event];
      if (stream != kNone) close_until(stream, time, end, real);
    } else if (node.waits == Waits::context || node.stream == in_.legacy) {
      close_all(begin, end, real, node.waits != Waits::context);
    } else {
      close_until(node.stream, begin, end, real);
    }
  }

  void submit(const Node& node) {
    int64_t handed = handed_over(machine_, node);
    Waiting waiting{node.gpu, handed, handed + handover(machine_, node).latency,
                    0,        false,  node.unseen() ? Work::kernel : node.work};
    if (known_.holds(node.gpu)) {
      durations_[node.gpu] = known_.of[node.gpu].end - known_.of[node.gpu].begin;
      waiting.time = durations_[node.gpu];
      fixed_ = true;
    } else if (node.waits == Waits::own && known_.any) {
      // What a call waits for itself ends with the wait: so much is known better than by any clock.
      waiting.unknown = in_.really_waited(node);
    } else if (node.unseen() || node.work == Work::kernel || !in_.copies[node.gpu].is_copy) {
      waiting.unknown = true;
    } else {
      waiting.time = copies_.of(node.work, in_.copies[node.gpu]);
    }
    streams_[node.stream].waiting.push_back(waiting);
    ++streams_[node.stream].count;
  }

  size_t submitted_until(const Stream& stream, int64_t time) const {
    size_t count = 0;
    while (count < stream.waiting.size() && stream.waiting[count].handed_over <= time) ++count;
    return count;
  }

  void close_until(uint32_t s, int64_t submitted, int64_t end, bool real) {
    close(s, submitted_until(streams_[s], submitted), end, real);
  }

  // The first `count` operations of the stream had ended by `end`. Where kernels exclude each other, so had
  // those of other streams that were there before the last of them.
  void close(uint32_t s, size_t count, int64_t end, bool real) {
    if (count == 0) return;
    std::vector<std::pair<uint32_t, size_t>> parts = {{s, count}};
    if (!machine_.kernels_overlap) {
      int64_t last = streams_[s].waiting[count - 1].handed_over;
      for (uint32_t other = 0; other < streams_.size(); ++other)
        if (other != s)
          if (size_t more = submitted_until(streams_[other], last)) parts.push_back({other, more});
    }
    close(parts, end, real);
  }

  void close_all(int64_t submitted, int64_t end, bool real, bool blocking_only) {
    std::vector<std::pair<uint32_t, size_t>> parts;
    for (uint32_t s = 0; s < streams_.size(); ++s)
      if (blocking_only && in_.is_independent(s))
        continue;
      else if (size_t count = submitted_until(streams_[s], submitted))
        parts.push_back({s, count});
    close(parts, end, real);
  }

  void close(const std::vector<std::pair<uint32_t, size_t>>& parts, int64_t end, bool real) {
    if (parts.empty()) return;
    if (parts.size() == 1 || machine_.kernels_overlap) {
      std::vector<std::pair<int64_t, int64_t>>
          ends;  // of work in blocking streams: when it was handed over, when it ended
      auto close_one = [&](uint32_t s, size_t count) {
        std::vector<Waiting> chain(streams_[s].waiting.begin(),
                                   streams_[s].waiting.begin() + static_cast<ptrdiff_t>(count));
        if (s == in_.legacy) start_behind(ends, chain);
        solve(chain, streams_[s].idle_from, end, real);
        if (s != in_.legacy && !in_.is_independent(s)) add_ends(chain, streams_[s].idle_from, ends);
      };
      for (auto [s, count] : parts)
        if (s != in_.legacy) close_one(s, count);
      for (auto [s, count] : parts)
        if (s == in_.legacy) close_one(s, count);
    } else {
      std::vector<Waiting> chain;
      int64_t from = INT64_MIN / 2;
      for (auto [s, count] : parts) {
        chain.insert(chain.end(), streams_[s].waiting.begin(),
                     streams_[s].waiting.begin() + static_cast<ptrdiff_t>(count));
        from = std::max(from, streams_[s].idle_from);
      }
      std::stable_sort(chain.begin(), chain.end(),
                       [](const Waiting& a, const Waiting& b) { return a.submitted < b.submitted; });
      solve(chain, from, end, real);
    }
    for (auto [s, count] : parts) {
      Stream& stream = streams_[s];
      stream.waiting.erase(stream.waiting.begin(), stream.waiting.begin() + static_cast<ptrdiff_t>(count));
      stream.idle_from = std::max(stream.idle_from, end);
    }
  }

  void add_ends(const std::vector<Waiting>& chain, int64_t from,
                std::vector<std::pair<int64_t, int64_t>>& ends) const {
    int64_t now = from;
    for (const Waiting& one : chain) {
      now = std::max(now, one.submitted) + durations_[one.gpu];
      ends.push_back({one.handed_over, now});
    }
  }

  // The legacy stream's work starts when that of blocking streams which was there before it has ended.
  void start_behind(std::vector<std::pair<int64_t, int64_t>>& ends, std::vector<Waiting>& chain) const {
    if (!machine_.legacy_orders) return;
    std::sort(ends.begin(), ends.end());
    size_t next = 0;
    int64_t ended = INT64_MIN / 2;  // those of `ends` before `next`
    for (Waiting& one : chain) {
      for (; next < ends.size() && ends[next].first <= one.handed_over; ++next)
        ended = std::max(ended, ends[next].second);
      one.submitted = std::max(one.submitted, ended);
    }
  }

  // Times are those of another run. Where they would end long behind the end that this run's wait tells,
  // something took longer there (the first touch of memory, say): the longest outlier of those without a
  // pause before the end gets shorter.
  void cut_outliers(std::vector<Waiting>& chain, int64_t from, int64_t end) {
    for (size_t round = 0; round < kMostOutliers; ++round) {
      int64_t now = from;
      size_t busy_from = 0;
      for (size_t i = 0; i < chain.size(); ++i) {
        int64_t free = i == 0 ? from : now + machine_.gap_between(chain[i - 1].work, chain[i].work);
        if (chain[i].submitted > free) busy_from = i;
        now = std::max(chain[i].submitted, free) + chain[i].time;
      }
      int64_t length = end - std::max(chain[busy_from].submitted, from);
      if (now - end <= std::max(kShortestOutlier, length / 20)) return;
      auto outlier_time = [&](const Waiting& one) {
        return known_.outliers.contains(one.gpu) ? one.time : 0;
      };
      auto longest = std::max_element(
          chain.begin() + static_cast<ptrdiff_t>(busy_from), chain.end(),
          [&](const Waiting& a, const Waiting& b) { return outlier_time(a) < outlier_time(b); });
      if (outlier_time(*longest) == 0) return;
      longest->time -= std::min(now - end, longest->time);
      durations_[longest->gpu] = longest->time;
    }
  }

  // Gives the chain's unknown operations times with which its last one ends at `end`. The end, as a function
  // of a common time x, is the maximum over k of: k's earliest begin + what k and all behind it take.
  void solve(std::vector<Waiting>& chain, int64_t from, int64_t end, bool real) {
    if (!known_.outliers.empty()) cut_outliers(chain, from, end);
    size_t first = chain.size(), last = chain.size();
    for (size_t i = 0; i < chain.size(); ++i)
      if (chain[i].unknown) {
        if (first == chain.size()) first = i;
        last = i;
      }
    bool measured = first == chain.size() && fixed_;
    if (first == chain.size() && !measured && real) {  // only copies: the last one takes what is left
      first = last = chain.size() - 1;
      chain[last].time = 0;
    }
    auto weight = [&](size_t i) -> int64_t {
      if (fill_ == Fill::first || first == last) return i == first;
      return fill_ == Fill::last ? i == last : chain[i].unknown;
    };
    bool any = first < chain.size();
    int64_t time = INT64_MAX, known = 0, weights = 0;
    double scale = 1;  // of the copies, should they not fit
    for (size_t i = chain.size(); i-- > 0;) {
      known += chain[i].time;
      if (i + 1 < chain.size()) known += machine_.gap_between(chain[i].work, chain[i + 1].work);
      if (any) weights += weight(i);
      int64_t begin = std::max(chain[i].submitted, i == 0 ? from : INT64_MIN / 2);
      int64_t room = std::max<int64_t>(end - begin, 0);
      if (weights > 0) time = std::min(time, (room - known) / weights);
      if (known > room) scale = std::min(scale, static_cast<double>(room) / static_cast<double>(known));
    }
    if (!real && fill_ == Fill::first) time = 0;
    if (!real && fill_ == Fill::equal) time /= 2;
    time = std::max<int64_t>(time, 0);
    for (size_t i = 0; i < chain.size(); ++i) {
      if (known_.holds(chain[i].gpu)) continue;
      durations_[chain[i].gpu] = any && weight(i)
                                     ? time * weight(i)
                                     : static_cast<int64_t>(scale * static_cast<double>(chain[i].time));
    }
  }

  const Schedule& in_;
  const KnownTimes& known_;
  const Machine machine_;
  const Fill fill_;
  std::vector<NodeAt> order_;
  CopyTimes copies_;
  std::vector<int64_t> durations_;
  std::vector<Stream> streams_;
  std::vector<std::pair<uint32_t, int64_t>> recorded_;
  bool fixed_ = false;
};

}  // namespace

std::vector<int64_t> durations_of(const Schedule& schedule, const KnownTimes& known, const Machine& machine,
                                  Fill fill) {
  return Filler(schedule, known, machine, fill).fill();
}

}  // namespace diogenes::replay
