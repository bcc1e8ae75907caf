#include "analysis/replay/process.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "analysis/replay/recorded/calibration.h"
#include "analysis/replay/recorded/wake_up.h"
#include "analysis/replay/simulator.h"
#include "analysis/runs/near_search.h"
#include "base/in_background.h"

namespace diogenes::replay {
namespace {

constexpr double kMismatchThatCounts = 0.005;
constexpr size_t kMostThreads = 4;

// Where neither the run nor its GPU times tell: between these the latencies of launches, of wake-ups and
// between operations lie.
constexpr Machine with_latencies(Machine machine, int64_t launch, int64_t wake_up, int64_t gap) {
  machine.launch_latency = launch;
  machine.wake_up = wake_up;
  machine.gap = machine.gap_to_copy = machine.gap_across = gap;
  return machine;
}
constexpr Machine quick(const Machine& machine) { return with_latencies(machine, 0, 0, 0); }
constexpr Machine slow(const Machine& machine) { return with_latencies(machine, 8'000, 5'000, 2'000); }

bool is_moved(const Edit& edit) { return edit.use_node != kNone; }

const char* sentence(Cause cause) {
  switch (cause) {
    case Cause::durations:
      return "how long each kernel ran is not known (no GPU times)";
    case Cause::overlap:
      return "whether kernels of different streams can overlap is not known";
    case Cause::latencies:
      return "how long launches and wake-ups take is not known (no GPU times)";
    case Cause::moved_call:
      return "moving the call gains less than recording an event in its place and waiting for that";
    case Cause::threads:
      return "threads wait for each other in ways that the tool cannot see";
    case Cause::mismatch:
      return "the model does not reproduce the measured run time well";
    case Cause::unmatched:
      return "some calls of the tracing run were not made in the run that judges them";
    case Cause::instances:
      return "the calls differ from each other";
    case Cause::hooks:
      return "the calls are so short that tracing makes them longer";
    case Cause::wake_ups:
      return "threads woke sooner or later than in the run that recorded GPU times";
    case Cause::sleeps:
      return "how soon threads wake from sleeps of another length is not known well";
    case Cause::short_work:
      return "a wait for work of a few microseconds hardly gets shorter when the work does";
    case Cause::count_:
      break;
  }
  return "";
}

// Of each piece of work, ns: so much of what it takes less may not be gained. Measured on an H200, with work of 7 and of 20 us
// that was waited for at once (docs/lab/2026-11-28-where-time-goes-h200.md).
constexpr int64_t kNotGainedOfEach = 5'000;

}  // namespace

void Spread::include(Cause cause, int64_t benefit) {
  auto& [low, high] = by_[static_cast<size_t>(cause)];
  benefit = std::clamp(benefit, -kMost, kMost);
  low = std::min(low, benefit - middle_);
  high = std::max(high, benefit - middle_);
}

void Spread::widen(Cause cause, int64_t by) {
  by = std::clamp(by, -kMost, kMost);
  include(cause, middle_ - by);
  include(cause, middle_ + by);
}

Estimate Spread::estimate(int64_t run) const {
  Estimate out;
  int64_t low = middle_, high = middle_, most = 0;
  Cause main = Cause::count_;
  for (size_t i = 0; i < by_.size(); ++i) {
    low += by_[i].first;
    high += by_[i].second;
    int64_t width = by_[i].second - by_[i].first;
    if (width > most) main = static_cast<Cause>(i);
    most = std::max(most, width);
  }
  out.benefit = {middle_};
  out.low = {low};
  out.high = {high};
  if (20 * (high - low) > std::max(std::abs(middle_), run / 50)) out.reason = sentence(main);
  return out;
}

// Where the CPU's progress was at a recorded time.
void place_use(const ThreadSchedule& thread, int64_t time, Edit& edit) {
  const auto begin = thread.nodes.begin();
  const auto next = partition_point_near(begin, begin + edit.node, thread.nodes.end(),
                                         [time](const Node& node) { return node.end() <= time; });
  auto index = std::max<size_t>(static_cast<size_t>(next - begin), edit.node + 1);
  edit.use_node = static_cast<uint32_t>(index);
  edit.use_offset = std::max<int64_t>(time - thread.nodes[index - 1].end(), 0);
}

ProcessReplay::Variant ProcessReplay::made_variant(const KnownTimes& times, const Wanted& wanted) const {
  Variant variant;
  variant.cause = wanted.cause;
  variant.machine = wanted.machine;
  variant.durations = durations_of(schedule_, times, wanted.machine, wanted.fill);
  if (!times.calibrated || !times.all) return variant;
  // The latencies are another run's: this one's waits tell which wake-up they had.
  variant.machine.wake_up = wake_up_of(schedule_, variant.durations, wanted.machine);
  variant.wake_up_differs = std::abs(variant.machine.wake_up - wanted.machine.wake_up);
  variant.durations = durations_of(schedule_, times, variant.machine, wanted.fill);
  return variant;
}

// Returns by how much each misses the recorded time, where that is asked for.
std::vector<int64_t> ProcessReplay::add_variants(const KnownTimes& times, const std::vector<Wanted>& wanted,
                                                 bool with_mismatch) {
  const size_t first = variants_.size();
  variants_.resize(first + wanted.size());
  std::vector<int64_t> mismatch(wanted.size(), 0);
  each_on_threads(kMostThreads, wanted.size(), [&](size_t i) {
    variants_[first + i] = made_variant(times, wanted[i]);
    if (with_mismatch) mismatch[i] = recorded_mismatch(variants_[first + i]);
  });
  return mismatch;
}

// How many kernels of different streams have a place on the GPU beside each other? Each block has at least a
// multiprocessor of its own, if there are no more blocks than those; what else they share is not known.
// False: the largest leaves no place, or its size is not known.
bool ProcessReplay::place_kernels(Machine& machine) const {
  uint32_t largest = 1, streams = 0;
  for (uint32_t blocks : schedule_.blocks) {
    largest = std::max(largest, blocks);
    streams += blocks > 0;
  }
  uint32_t at_once = schedule_.multiprocessors / largest;
  if (at_once < 2) return false;
  machine.kernels_overlap = true;
  machine.kernels_at_once = at_once < streams ? at_once : 0;
  return true;
}

int64_t ProcessReplay::recorded_mismatch(const Variant& variant) const {
  Outcome recorded = simulate(schedule_, variant.durations, variant.machine, {}, {});
  return std::abs(recorded.end - schedule_.end);
}

ProcessReplay::ProcessReplay(std::shared_ptr<const Schedule> recorded, const KnownTimes& times,
                             const Machine& assumed)
    : shared_(std::move(recorded)) {
  Machine machine = times.calibrated ? assumed
                    : times.any      ? machine_from(schedule_, times, assumed)
                                     : machine_within(schedule_, assumed);
  std::vector<bool> with_kernels(schedule_.streams, false);
  for (const ThreadSchedule& thread : schedule_.threads)
    for (const Node& node : thread.nodes)
      if (node.work == Work::kernel) with_kernels[node.stream] = true;
  several_streams_ = std::count(with_kernels.begin(), with_kernels.end(), true) > 1;
  bool placed = several_streams_ && !machine.overlap_seen && place_kernels(machine);
  std::vector<Wanted> wanted = {{machine}};
  // Which of the two is nearer to the recorded time is the estimate; the other one is in the range.
  // Kernels that were seen to overlap can. Those that have a place beside each other may still hold each
  // other up (they share memory and what else there is).
  Machine other = machine;
  other.kernels_overlap = !machine.kernels_overlap;
  if (several_streams_ && !(machine.overlap_seen && machine.kernels_overlap))
    wanted.push_back({other, Fill::equal, Cause::overlap});
  const std::vector<int64_t> mismatches = add_variants(times, wanted, several_streams_);
  mismatch_ = mismatches[0];
  if (mismatches.size() > 1) {
    bool misses = static_cast<double>(mismatch_) > kMismatchThatCounts * static_cast<double>(schedule_.end);
    if (!times.any && mismatches[1] < mismatch_ && (!placed || misses)) {
      std::swap(variants_[0], variants_[1]);
      std::swap(variants_[0].cause, variants_[1].cause);
      mismatch_ = mismatches[1];
      machine = other;
    }
  }
  wanted.clear();
  if (!times.all)
    for (const Fill fill : {Fill::first, Fill::last}) wanted.push_back({machine, fill, Cause::durations});
  if (!times.any && machine.assumed)
    for (const Machine& bound : {quick(machine), slow(machine)})
      wanted.push_back({machine_within(schedule_, bound), Fill::equal, Cause::latencies});
  add_variants(times, wanted);
  all_known_ = times.all;
  for (const ThreadSchedule& thread : schedule_.threads)
    for (const Node& node : thread.nodes) calls_time_ += node.own + node.waited;
  const bool one_thread = schedule_.threads.size() == 1, mismatch_is_known = several_streams_;
  unchanged_.variants.resize(variants_.size());
  each_on_threads(kMostThreads, variants_.size() + 1, [&](size_t i) {
    if (i == variants_.size()) {
      if (!mismatch_is_known) mismatch_ = recorded_mismatch(variants_[0]);
    } else if (one_thread) {
      Variant& variant = variants_[i];
      unchanged_.variants[i] =
          simulate(schedule_, variant.durations, variant.machine, setting(), {}, &variant.checkpoints).end;
    }
  });
  unchanged_.same_call = unchanged_.variants[0];
  if (!one_thread) unchanged_ = ends({});
}

Outcome ProcessReplay::run(const Variant& variant, const Setting& how, std::span<const Edit> edits) const {
  return simulate(schedule_, variant.durations, variant.machine, how, edits, nullptr, &variant.checkpoints);
}

ProcessReplay::Ends ProcessReplay::ends(std::span<const Edit> edits,
                                        const std::vector<int64_t>& shorter) const {
  Ends ends;
  Variant changed;  // without checkpoints: these are of the recorded durations
  const auto with = [&](const Variant& of) -> const Variant& {
    if (shorter.empty()) return of;
    changed.machine = of.machine;
    changed.durations = of.durations;
    for (size_t i = 0; i < changed.durations.size() && i < shorter.size(); ++i)
      changed.durations[i] = std::max<int64_t>(changed.durations[i] - shorter[i], 0);
    return changed;
  };
  for (const Variant& each : variants_) ends.variants.push_back(run(with(each), setting(), edits).end);
  const Variant& variant = with(variants_[0]);
  ends.same_call = ends.variants[0];
  if (std::any_of(edits.begin(), edits.end(), is_moved)) {
    Setting same_call = setting();
    same_call.moved_as_event = false;
    ends.same_call = run(variant, same_call, edits).end;
  }
  if (schedule_.threads.size() < 2) return ends;
  if (!schedule_.order_complete) ends.independent = run(variant, {true, false, true}, edits);
  if (schedule_.locks_taken_free) ends.locks_in_order = run(variant, in_order(), edits).end;
  if (schedule_.sleep_costs.known()) ends.sleeps_as_recorded = run(variant, sleeps_as_recorded(), edits).end;
  return ends;
}

void ProcessReplay::include_variants(const Ends& before, const Ends& after, Spread& spread) const {
  for (size_t i = 1; i < variants_.size(); ++i)
    spread.include(variants_[i].cause, before.variants[i] - after.variants[i]);
}

// Of several threads.
void ProcessReplay::include_orders(const Ends& before, const Ends& after, Spread& spread) const {
  if (!schedule_.order_complete) {
    // Of the whole, and of all threads summed.
    int64_t sum = 0;
    for (size_t t = 0; t < after.independent.threads.size(); ++t)
      sum += before.independent.threads[t] - after.independent.threads[t];
    for (int64_t benefit : {before.independent.end - after.independent.end, sum})
      spread.include(Cause::threads, benefit);
  }
  if (schedule_.locks_taken_free)
    spread.include(Cause::threads, before.locks_in_order - after.locks_in_order);
  // Other threads, and how the host of a virtual machine shares it out, move the lengths at which costs step up. So
  // what they change may be twice as much, or nothing.
  if (schedule_.sleep_costs.known())
    spread.widen(Cause::sleeps,
                 std::abs(spread.middle() - (before.sleeps_as_recorded - after.sleeps_as_recorded)));
}

Estimate ProcessReplay::estimate_shorter(const Ends& before, std::span<const Edit> edits,
                                         const std::vector<int64_t>& shorter) const {
  const Ends after = ends(edits, shorter);
  Spread spread(before.variants[0] - after.variants[0]);
  include_variants(before, after, spread);
  if (schedule_.threads.size() > 1) include_orders(before, after, spread);
  // The part of the mismatch that the gained time may answer for.
  if (schedule_.end > 0 &&
      static_cast<double>(mismatch_) > kMismatchThatCounts * static_cast<double>(schedule_.end))
    spread.widen(Cause::mismatch,
                 static_cast<int64_t>(static_cast<double>(mismatch_) * static_cast<double>(spread.middle()) /
                                      static_cast<double>(schedule_.end)));
  int64_t taken = 0, uncertain = 0;
  for (const int64_t less : shorter) {
    taken += less;
    uncertain += std::min(less, kNotGainedOfEach);
  }
  if (taken > 0)
    spread.include(
        Cause::short_work,
        spread.middle() - static_cast<int64_t>(static_cast<double>(spread.middle()) *
                                               static_cast<double>(uncertain) / static_cast<double>(taken)));
  // No more is gained than the work takes less.
  Estimate estimate = spread.estimate(schedule_.end);
  estimate.high = std::max(std::min(estimate.high, Nanoseconds{taken}), estimate.benefit);
  estimate.low = std::min(std::max(estimate.low, Nanoseconds{}), estimate.benefit);
  return estimate;
}

Estimate ProcessReplay::estimate_beyond(const Ends& before, std::span<const Edit> all,
                                        std::span<const Edit> edits, double unmatched) const {
  const Ends after = ends(all);
  Spread spread(before.variants[0] - after.variants[0]);
  include_variants(before, after, spread);
  spread.include(Cause::moved_call, before.same_call - after.same_call);
  // What is gained was waited: if not when it was recorded, then with the others made.
  const int64_t changed_time = std::max(time_of(edits), spread.middle());
  if (schedule_.threads.size() > 1) {
    include_orders(before, after, spread);
    if (!all_known_) {
      // Which thread's work a wait waited for is a guess then. Nothing, and all the time that goes, are
      // bounds.
      spread.include(Cause::threads, 0);
      spread.include(Cause::threads, changed_time);
    }
  }
  if (schedule_.end > 0 && calls_time_ > 0 &&
      static_cast<double>(mismatch_) > kMismatchThatCounts * static_cast<double>(schedule_.end)) {
    // The part of it that the changed calls may answer for.
    double share = static_cast<double>(changed_time) / static_cast<double>(calls_time_);
    spread.widen(Cause::mismatch, static_cast<int64_t>(share * static_cast<double>(mismatch_)));
  }
  if (unmatched > 0) {
    constexpr auto kMost = static_cast<double>(Spread::kMost);
    const auto middle = static_cast<double>(spread.middle());
    const double more = std::abs(middle) * unmatched / (1 - std::min(unmatched, 0.9));
    spread.include(Cause::unmatched, static_cast<int64_t>(std::clamp(middle + more, -kMost, kMost)));
  }
  differences(edits, spread);
  Estimate estimate = spread.estimate(schedule_.end);
  if (std::all_of(edits.begin(), edits.end(), is_moved)) {
    const Nanoseconds most{most_by_moving(edits)};
    for (Nanoseconds* figure : {&estimate.benefit, &estimate.low, &estimate.high})
      *figure = std::min(*figure, most);
  }
  return estimate;
}

// A run is one sample of what the instances take: two standard errors of the sum, site by site, as far as it
// is gained at all. What the hooks add inside a call is known from a function that does nothing: in a real
// one it is that more or less. And by how much the wake-up of two runs differs, it may differ in the next
// one.
void ProcessReplay::differences(std::span<const Edit> edits, Spread& spread) const {
  struct Gains {
    double count = 0, mean = 0, squares = 0;  // of the differences from the mean
  };
  std::unordered_map<uint32_t, Gains> sites;
  std::vector<Gains*> by_number;  // the same
  int64_t total = 0, inside = 0, wake_ups = 0;
  for (const Edit& edit : edits) {
    const Node& node = schedule_.threads[edit.thread].nodes[edit.node];
    const int64_t gain = node.waited + (edit.call_removed ? node.own : 0);
    total += gain;
    if (node.waits != Waits::no && schedule_.really_waited(node)) wake_ups += variants_[0].wake_up_differs;
    if (edit.call_removed)
      inside += node.waits == Waits::no ? schedule_.hooks_inside : schedule_.hooks_inside_wait;
    const size_t number = uint32_t{node.site + 1};  // kNone comes first
    if (number >= by_number.size()) by_number.resize(number + 1);
    if (!by_number[number]) by_number[number] = &sites[node.site];
    Gains& site = *by_number[number];
    const double from_mean = static_cast<double>(gain) - site.mean;
    site.mean += from_mean / ++site.count;
    site.squares += from_mean * (static_cast<double>(gain) - site.mean);
  }
  spread.widen(Cause::hooks, inside);
  if (total <= 0) return;
  double variance = 0;
  for (const auto& [site, gains] : sites)
    if (gains.count > 1) variance += gains.squares / (gains.count - 1) * gains.count;
  const double gained = std::abs(static_cast<double>(spread.middle())) / static_cast<double>(total);
  const auto as_gained = [&](double time) { return static_cast<int64_t>(time * std::min(gained, 1.0)); };
  spread.widen(Cause::instances, as_gained(2 * std::sqrt(variance)));
  spread.widen(Cause::wake_ups, as_gained(static_cast<double>(wake_ups)));
}

// Behind the first use the program waits as before. So a move gains no more than was waited, nor, where the
// GPU is given nothing before that use, than the time to it. (What it is given there comes earlier by as much
// as was waited, and may be waited for later.) Without the recording since the thread waited last, the wait
// would have been longer by that much.
int64_t ProcessReplay::most_by_moving(std::span<const Edit> edits) const {
  int64_t most = 0;
  for (const Edit& edit : edits) {
    const auto& nodes = schedule_.threads[edit.thread].nodes;
    const Node& node = nodes[edit.node];
    int64_t one = node.waited + node.recording;
    for (uint32_t i = edit.node; i-- > 0 && nodes[i].waited == 0;) one += nodes[i].recording;
    const bool given = std::any_of(nodes.begin() + edit.node + 1, nodes.begin() + edit.use_node,
                                   [](const Node& between) { return between.work != Work::none; });
    if (!given) one = std::min(one, nodes[edit.use_node - 1].end() + edit.use_offset - node.end());
    most += one;
  }
  return most;
}

int64_t ProcessReplay::time_of(std::span<const Edit> edits) const {
  int64_t changed = 0;
  for (const Edit& edit : edits) {
    const Node& node = schedule_.threads[edit.thread].nodes[edit.node];
    changed += node.waited + (edit.call_removed ? node.own : 0);
  }
  return changed;
}

}  // namespace diogenes::replay
