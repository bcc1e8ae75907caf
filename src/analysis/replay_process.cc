#include "analysis/replay_process.h"

#include <algorithm>
#include <cmath>

namespace diogenes::replay {
namespace {

constexpr double kMismatchThatCounts = 0.005;

}  // namespace

// Where the CPU's progress was at a recorded time.
void place_use(const ThreadSchedule& thread, int64_t time, Edit& edit) {
  auto next = std::upper_bound(thread.nodes.begin(), thread.nodes.end(), time,
                               [](int64_t value, const Node& node) { return value < node.end(); });
  auto index = std::max<size_t>(static_cast<size_t>(next - thread.nodes.begin()), edit.node + 1);
  edit.use_node = static_cast<uint32_t>(index);
  edit.use_offset = std::max<int64_t>(time - thread.nodes[index - 1].end(), 0);
}

void ProcessReplay::add_variant(const KnownTimes& times, const Machine& machine, Fill fill) {
  Variant& variant = variants_.emplace_back();
  variant.machine = machine;
  variant.durations = durations_of(schedule_, times, machine, fill);
}

int64_t ProcessReplay::recorded_mismatch(const Variant& variant) const {
  Outcome recorded = simulate(schedule_, variant.durations, variant.machine, {}, {});
  return std::abs(recorded.end - schedule_.end);
}

ProcessReplay::ProcessReplay(Schedule recorded, const KnownTimes& times, const Machine& assumed)
    : schedule_(std::move(recorded)) {
  Machine machine = times.calibrated ? assumed
                    : times.any      ? machine_from(schedule_, times, assumed)
                                     : machine_within(schedule_, assumed);
  std::vector<bool> with_kernels(schedule_.streams, false);
  for (const ThreadSchedule& thread : schedule_.threads)
    for (const Node& node : thread.nodes)
      if (node.work == Work::kernel) with_kernels[node.stream] = true;
  several_streams_ = std::count(with_kernels.begin(), with_kernels.end(), true) > 1;
  add_variant(times, machine, Fill::equal);
  mismatch_ = recorded_mismatch(variants_[0]);
  if (several_streams_) {
    // Which of the two is nearer to the recorded time is the estimate; the other one is in the range.
    // Kernels that were seen to overlap can.
    Machine other = machine;
    other.kernels_overlap = !machine.kernels_overlap;
    if (!(times.any && machine.kernels_overlap)) {
      add_variant(times, other, Fill::equal);
      int64_t theirs = recorded_mismatch(variants_[1]);
      if (!times.any && theirs < mismatch_) {
        std::swap(variants_[0], variants_[1]);
        mismatch_ = theirs;
        machine = other;
      }
    }
  }
  if (!times.all) {
    add_variant(times, machine, Fill::first);
    add_variant(times, machine, Fill::last);
  }
  for (Variant& variant : variants_)
    variant.base =
        simulate(schedule_, variant.durations, variant.machine, setting(), {}, &variant.checkpoints);
  if (schedule_.threads.size() > 1)
    independent_ = simulate(schedule_, variants_[0].durations, variants_[0].machine,
                            {schedule_.hook_cost, false, true}, {});
}

void ProcessReplay::independent_range(std::span<const Edit> edits, Estimate& out) const {
  Outcome changed = simulate(schedule_, variants_[0].durations, variants_[0].machine,
                             {schedule_.hook_cost, false, true}, edits);
  int64_t sum = 0;
  for (size_t t = 0; t < changed.threads.size(); ++t) sum += independent_.threads[t] - changed.threads[t];
  for (int64_t benefit : {independent_.end - changed.end, sum}) {
    out.low.count = std::min(out.low.count, benefit);
    out.high.count = std::max(out.high.count, benefit);
  }
}

Estimate ProcessReplay::estimate(std::span<const Edit> edits, double unmatched) const {
  Estimate out;
  struct Cause {
    const char* text;
    int64_t width;
  };
  std::vector<Cause> causes;
  int64_t width = 0;
  auto widened_by = [&](const char* text) {
    int64_t now = (out.high - out.low).count;
    if (now > width) causes.push_back({text, now - width});
    width = now;
  };
  auto include = [&](int64_t benefit) {
    out.low.count = std::min(out.low.count, benefit);
    out.high.count = std::max(out.high.count, benefit);
  };
  bool moves =
      std::any_of(edits.begin(), edits.end(), [](const Edit& edit) { return edit.use_node != kNone; });
  for (size_t i = 0; i < variants_.size(); ++i) {
    const Variant& variant = variants_[i];
    Outcome changed = simulate(schedule_, variant.durations, variant.machine, setting(), edits, nullptr,
                               &variant.checkpoints);
    int64_t benefit = variant.base.end - changed.end;
    if (i == 0) out.benefit = out.low = out.high = {benefit};
    include(benefit);
    bool overlap =
        several_streams_ && variant.machine.kernels_overlap != variants_[0].machine.kernels_overlap;
    if (i > 0)
      widened_by(overlap ? "whether kernels of different streams can overlap is not known"
                         : "how long each kernel ran is not known (no GPU times)");
  }
  if (moves) {
    Setting same_call = setting();
    same_call.moved_as_event = false;
    include(variants_[0].base.end - simulate(schedule_, variants_[0].durations, variants_[0].machine,
                                             same_call, edits, nullptr, &variants_[0].checkpoints)
                                        .end);
    widened_by("moving the call itself gains less than an event recorded where it was");
  }
  if (schedule_.threads.size() > 1) {
    independent_range(edits, out);
    widened_by("how the threads wait for each other is not known");
  }
  if (schedule_.end > 0 &&
      static_cast<double>(mismatch_) > kMismatchThatCounts * static_cast<double>(schedule_.end)) {
    // The part of it that the changed calls may answer for.
    double share = time_of(edits);
    auto more = static_cast<int64_t>(share * static_cast<double>(mismatch_));
    out.low.count -= more;
    out.high.count += more;
    widened_by("replaying the recorded run misses its time");
  }
  if (unmatched > 0) {
    double more =
        std::abs(static_cast<double>(out.benefit.count)) * unmatched / (1 - std::min(unmatched, 0.9));
    out.high.count += static_cast<int64_t>(more);
    widened_by("operations of the tracing run have no counterpart in the run that judged them");
  }
  bool wide = 20 * width > std::max(std::abs(out.benefit.count), schedule_.end / 50);
  auto main = std::max_element(causes.begin(), causes.end(),
                               [](const Cause& a, const Cause& b) { return a.width < b.width; });
  if (wide && main != causes.end()) out.reason = main->text;
  return out;
}

double ProcessReplay::time_of(std::span<const Edit> edits) const {
  double all = 0, changed = 0;
  for (const ThreadSchedule& thread : schedule_.threads)
    for (const Node& node : thread.nodes) all += static_cast<double>(node.own + node.waited);
  for (const Edit& edit : edits) {
    const Node& node = schedule_.threads[edit.thread].nodes[edit.node];
    changed += static_cast<double>(node.own + node.waited);
  }
  return all > 0 ? changed / all : 0;
}

}  // namespace diogenes::replay
