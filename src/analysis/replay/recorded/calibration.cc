#include "analysis/replay/recorded/calibration.h"

#include <algorithm>

namespace diogenes::replay {
namespace {

int64_t median(std::vector<int64_t>& values) {
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of a latency that every operation pays: the mean, without the tenth part that lies farthest out above (a
// thread that lost its processor).
int64_t usual(std::vector<int64_t>& values) {
  auto end = values.end() - static_cast<ptrdiff_t>(values.size() / 10);
  std::nth_element(values.begin(), end == values.end() ? end - 1 : end, values.end());
  double sum = 0;
  for (auto value = values.begin(); value != end; ++value) sum += static_cast<double>(*value);
  return static_cast<int64_t>(sum / static_cast<double>(end - values.begin()));
}

// Of the times in which threads woke: one that lost its processor meanwhile tells nothing of the machine, and
// in a run of a few waits would be a good part of the mean. `assumed`: where no other is there.
int64_t usual_wake_up(std::vector<int64_t>& values, int64_t assumed) {
  constexpr int64_t kLongest = 50'000;
  std::erase_if(values, [](int64_t value) { return value > kLongest; });
  if (values.empty()) return assumed;
  const int64_t longest = longest_wake_up(median(values));
  std::erase_if(values, [&](int64_t value) { return value > longest; });
  return usual(values);
}

// Gaps that the run does not tell. A copy that is given to a GPU at work comes no sooner than one that is called when that work was
// waited for: a wake-up, a launch and 4 us behind it. A kernel comes 3 us later behind a copy than behind a kernel. Seen on an
// H200, with kernels of 2 to 50 us and copies of 1 byte to 1 MiB (docs/driver-facts.md).
void assume_gaps(Machine& machine) {
  constexpr int64_t kToCopy = 4'000, kFromCopy = 3'000;
  if (machine.gap_to_copy < 0)
    machine.gap_to_copy = machine.wake_up + std::max<int64_t>(machine.launch_latency, 0) + kToCopy;
  if (machine.gap_across < 0) machine.gap_across = machine.gap + kFromCopy;
}

struct Ran {
  const Node* node;
  int64_t begin, end, previous;  // `previous`: end of the one before it in its stream
  Work after;                    // which kind that one was
  int64_t ready;                 // when it could start, as far as its call goes
  uint32_t stream;
  bool kernel;
};

// A latency by the operations that it held up. `margin`: by how much nothing else did; those with a large one
// tell, and the others only where there are none.
class Samples {
 public:
  void add(int64_t value, int64_t margin) { (margin >= kClear ? clear_ : close_).push_back(value); }
  bool empty() const { return clear_.empty() && close_.empty(); }
  int64_t middle() { return median(clear_.empty() ? close_ : clear_); }
  int64_t mean() { return usual(clear_.empty() ? close_ : clear_); }
  // Median distance from the middle.
  int64_t spread() {
    int64_t at = middle();
    std::vector<int64_t> distances = clear_.empty() ? close_ : clear_;
    for (int64_t& value : distances) value = std::abs(value - at);
    return median(distances);
  }

 private:
  static constexpr int64_t kClear = 10'000;
  std::vector<int64_t> clear_, close_;
};

// When work starts on an idle GPU, by the calls that gave it.
struct Latency {
  Samples from_return, from_begin;

  void tell(int64_t& latency, int64_t& after_begin) {
    if (from_return.empty()) return;
    latency = from_return.middle();
    // Where calls take now long and now short, the work may start so long after their begin all the same.
    if (2 * from_begin.spread() < from_return.spread())
      after_begin = std::max<int64_t>(from_begin.middle(), 0);
  }
};

// Could kernels of different streams overlap? Seen to: yes. One that was ready while another stream's ran,
// and began when that had ended: no. Else it is not known.
void see_overlap(std::vector<Ran> ran, Machine& machine) {
  std::erase_if(ran, [](const Ran& one) { return !one.kernel; });
  std::sort(ran.begin(), ran.end(), [](const Ran& a, const Ran& b) { return a.begin < b.begin; });
  int excluded = 0, overlapped = 0;
  for (size_t i = 1; i < ran.size(); ++i) {
    const Ran &one = ran[i], &before = ran[i - 1];
    if (one.stream == before.stream) continue;
    int64_t ready = std::max(one.ready, one.previous + machine.gap_between(one.after, one.node->work));
    int64_t shortest = std::min(one.end - one.begin, before.end - before.begin);
    int64_t overlap = std::min(one.end, before.end) - one.begin;
    overlapped += overlap > shortest / 20;
    excluded += ready < before.end - shortest / 20 && ready >= before.begin && one.begin >= before.end;
  }
  if (overlapped == excluded) return;
  machine.kernels_overlap = overlapped > excluded;
  machine.overlap_seen = true;
}

}  // namespace

Machine machine_from(const Schedule& schedule, const KnownTimes& known, const Machine& fallback) {
  Machine machine = fallback;
  Latency kernels, copies;
  Samples gap, gap_to_copy, gap_across;
  std::vector<int64_t> wake_up, own_wake_up, ends;
  std::vector<Ran> ran;
  ran.reserve(known.of.size());
  ends.reserve(known.of.size());
  std::vector<int64_t> previous(schedule.streams, INT64_MIN / 2);
  std::vector<Work> previous_work(schedule.streams, Work::none);
  int64_t all_ended = INT64_MIN / 2;
  for (NodeAt at : in_time_order(schedule)) {
    const Node& node = schedule.threads[at.thread].nodes[at.node];
    if (node.on_gpu() && known.holds(node.gpu)) {
      const KnownTime& time = known.of[node.gpu];
      ran.push_back({&node, time.begin, time.end, previous[node.stream], previous_work[node.stream], 0,
                     node.stream, node.work == Work::kernel});
      ends.push_back(time.end);
      if (all_ended <= node.submitted() && node.waits == Waits::no) {
        Latency& latency = is_copy(node.work) ? copies : kernels;
        latency.from_return.add(time.begin - node.submitted(), node.submitted() - all_ended);
        latency.from_begin.add(time.begin - node.begin, node.submitted() - all_ended);
      }
      previous[node.stream] = time.end;
      previous_work[node.stream] = node.work;
      all_ended = std::max(all_ended, time.end);
    }
    if (node.waits == Waits::no || node.waits == Waits::event || node.polled || !schedule.really_waited(node))
      continue;
    bool whole = node.waits == Waits::context || node.stream == schedule.legacy || schedule.streams == 1;
    int64_t ended = whole ? all_ended : previous[node.stream];
    int64_t returned = node.work == Work::none ? node.begin + node.waited : node.end();
    // No GPU end lies behind the end of the wait for it: what seems to is another thread's.
    // A copy that its own call waits for may run on the CPU's time: it tells where nothing else does.
    if (ended > returned - node.waited && ended <= returned)
      (node.work == Work::none ? wake_up : own_wake_up).push_back(returned - ended);
  }
  Latency& launches = kernels.from_return.empty() ? copies : kernels;
  launches.tell(machine.launch_latency, machine.launch_from_begin);
  machine.copies_apart = !kernels.from_return.empty() && !copies.from_return.empty();
  if (machine.copies_apart) copies.tell(machine.copy_latency, machine.copy_from_begin);
  if (wake_up.empty()) wake_up = std::move(own_wake_up);
  machine.wake_up = usual_wake_up(wake_up, machine.wake_up);
  std::sort(ends.begin(), ends.end());
  for (Ran& one : ran) {
    one.ready = handed_over(machine, *one.node) + handover(machine, *one.node).latency;
    // Held up by its stream's previous operation, and not by one of another stream that ended since.
    if (one.previous <= one.ready) continue;
    auto later = std::upper_bound(ends.begin(), ends.end(), one.previous);
    if (later == ends.end() || *later > one.begin)
      (!across(one.after, one.node->work) ? gap
       : is_copy(one.node->work)          ? gap_to_copy
                                          : gap_across)
          .add(std::max<int64_t>(one.begin - one.previous, 0), one.previous - one.ready);
  }
  // From one engine to another it takes now long and now short: what it takes in sum is what counts. On one
  // engine it takes no longer.
  if (!gap_to_copy.empty()) machine.gap_to_copy = gap_to_copy.mean();
  if (!gap_across.empty()) machine.gap_across = gap_across.mean();
  for (const int64_t across : {machine.gap_to_copy, machine.gap_across})
    if (across >= 0) machine.gap = std::min(machine.gap, across);
  if (!gap.empty()) machine.gap = gap.middle();
  assume_gaps(machine);
  see_overlap(std::move(ran), machine);
  return machine;
}

Machine machine_within(const Schedule& schedule, const Machine& assumed) {
  int64_t shortest = INT64_MAX, submitted = -1;
  if (schedule.threads.size() == 1)
    for (const Node& node : schedule.threads[0].nodes) {
      if (node.on_gpu()) submitted = node.submitted();
      if (node.waits == Waits::no) continue;
      int64_t returned = node.work == Work::none ? node.begin + node.waited : node.end();
      if (submitted >= 0 && schedule.really_waited(node)) shortest = std::min(shortest, returned - submitted);
      submitted = -1;
    }
  Machine machine = assumed;
  int64_t both = assumed.launch_latency + assumed.wake_up;
  if (both > shortest && both > 0) {
    double scale = static_cast<double>(shortest) / static_cast<double>(both);
    machine.launch_latency = static_cast<int64_t>(static_cast<double>(assumed.launch_latency) * scale);
    machine.wake_up = static_cast<int64_t>(static_cast<double>(assumed.wake_up) * scale);
  }
  return machine;
}

}  // namespace diogenes::replay
