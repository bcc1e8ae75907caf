#include "analysis/replay/recorded/wake_up.h"

#include <algorithm>

#include "analysis/replay/gpu.h"
#include "analysis/replay/recorded/calibration.h"

namespace diogenes::replay {
namespace {

constexpr size_t kFewest = 8;  // waits

// Gives the GPU the recorded run's work when it was handed over, and looks when what was waited for has
// ended.
class Recorded {
 public:
  Recorded(const Schedule& schedule, const std::vector<int64_t>& durations, const Machine& machine)
      : in_(schedule),
        machine_(machine),
        gpu_(schedule, durations, machine),
        next_(schedule.threads.size()) {}

  int64_t wake_up() {
    for (;;) {
      const uint32_t t = earliest();
      if (t == kNone) break;
      const Place place = next_[t];
      const int64_t now = time_of(t);
      run_until(now);
      const Node& node = in_.threads[t].nodes[place.node];
      if (place.submitted)
        wait(node);
      else
        gpu_.submit(node, now);
      go_on(t);
    }
    run_until(Gpu::kNever);
    return mean();
  }

 private:
  struct Place {
    uint32_t node = 0;
    bool submitted = false;  // what is left of the node is its wait
  };
  struct Watched {
    Target target;
    int64_t returned;
  };

  bool submits(const Node& node) const { return node.work != Work::none || node.unseen(); }
  static int64_t wait_begin(const Node& node) {
    return node.work == Work::none ? node.begin : node.begin + node.own;
  }

  int64_t time_of(uint32_t t) const {
    const Node& node = in_.threads[t].nodes[next_[t].node];
    return submits(node) && !next_[t].submitted ? handed_over(machine_, node) : wait_begin(node);
  }

  uint32_t earliest() {
    uint32_t first = kNone;
    for (uint32_t t = 0; t < next_.size(); ++t) {
      const auto& nodes = in_.threads[t].nodes;
      Place& place = next_[t];
      if (place.node < nodes.size() && !submits(nodes[place.node])) place.submitted = true;
      if (place.node < nodes.size() && (first == kNone || time_of(t) < time_of(first))) first = t;
    }
    return first;
  }

  void go_on(uint32_t t) {
    Place& place = next_[t];
    place = place.submitted ? Place{place.node + 1, false} : Place{place.node, true};
  }

  void run_until(int64_t time) {
    while (gpu_.next() <= time && gpu_.next() != Gpu::kNever) {
      const int64_t now = gpu_.next();
      if (!gpu_.step()) continue;
      std::erase_if(watched_, [&](const Watched& one) {
        if (!gpu_.reached(one.target)) return false;
        note(one.returned - now);
        return true;
      });
    }
  }

  // What a call waits for itself took as long as the wait tells, with the machine's wake-up.
  void wait(const Node& node) {
    if (node.waits == Waits::no || node.work != Work::none || node.unseen() || node.polled) return;
    // Where works take longer than they did, ever more waits would be looked at: those tell nothing any more.
    std::erase_if(watched_, [&](const Watched& one) {
      const bool beyond = node.begin - one.returned > limit();
      waits_ += beyond;
      return beyond;
    });
    const Target target = gpu_.target_of(node);
    if (!gpu_.reached(target)) watched_.push_back({target, node.begin + node.waited});
  }

  // A wait that returns so much earlier or later than it should was held up by something else, or its work
  // took another time than in the run that told it.
  int64_t limit() const { return longest_wake_up(machine_.wake_up); }

  void note(int64_t took) {
    ++waits_;
    if (std::abs(took - machine_.wake_up) > limit()) return;
    ++counted_;
    sum_ += took;
  }

  int64_t mean() const {
    if (counted_ < kFewest || 2 * counted_ < waits_) return machine_.wake_up;
    return std::max<int64_t>(sum_ / static_cast<int64_t>(counted_), 0);
  }

  const Schedule& in_;
  const Machine machine_;
  Gpu gpu_;
  std::vector<Place> next_;  // by thread
  std::vector<Watched> watched_;
  size_t waits_ = 0, counted_ = 0;
  int64_t sum_ = 0;
};

}  // namespace

int64_t wake_up_of(const Schedule& schedule, const std::vector<int64_t>& durations, const Machine& machine) {
  return Recorded(schedule, durations, machine).wake_up();
}

}  // namespace diogenes::replay
