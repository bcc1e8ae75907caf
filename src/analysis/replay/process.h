// The model `replay` for one process: its schedule, run again in every way in which it may have gone.
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "analysis/replay/recorded/durations.h"
#include "analysis/replay/simulator.h"

namespace diogenes {

struct Estimate {
  Nanoseconds benefit, low, high;
  std::string reason;  // why the range is wide; "" if it is not
};

namespace replay {

// A moved wait's place: where the CPU's progress was at a recorded time.
void place_use(const ThreadSchedule& thread, int64_t time, Edit& edit);

// What may be otherwise than the estimate takes it.
enum class Cause : uint8_t {
  durations,
  overlap,
  latencies,
  moved_call,
  threads,
  mismatch,
  unmatched,
  instances,
  hooks,
  wake_ups,
  sleeps,
  short_work,
  count_
};

// The range of an estimate: of each cause the benefits that it leaves possible; causes add up.
class Spread {
 public:
  // Times of a damaged session may be any: a hundred days are the most that is reckoned with.
  static constexpr int64_t kMost = 10'000'000'000'000'000;
  explicit Spread(int64_t middle) : middle_(std::clamp(middle, -kMost, kMost)) {}
  void include(Cause cause, int64_t benefit);
  void widen(Cause cause, int64_t by);
  int64_t middle() const { return middle_; }
  Estimate estimate(int64_t run) const;  // with the largest cause as the reason where the range is wide

 private:
  int64_t middle_;
  std::array<std::pair<int64_t, int64_t>, static_cast<size_t>(Cause::count_)> by_{};  // from the middle
};

class ProcessReplay {
 public:
  ProcessReplay(std::shared_ptr<const Schedule> recorded, const KnownTimes& times, const Machine& assumed);
  ProcessReplay(Schedule recorded, const KnownTimes& times, const Machine& assumed)
      : ProcessReplay(std::make_shared<const Schedule>(std::move(recorded)), times, assumed) {}

  // When the run ends with some edits made, in each way in which it may have gone.
  struct Ends {
    std::vector<int64_t> variants;
    int64_t same_call = 0;           // a moved wait is the same call
    int64_t locks_in_order = 0;      // free locks are taken in the recorded order
    int64_t sleeps_as_recorded = 0;  // sleeps cost what they did
    Outcome independent;             // threads are taken as independent
  };
  // `edits`: sorted by position. `shorter`: by how much less time each piece of GPU work takes (Node::gpu); empty: none.
  Ends ends(std::span<const Edit> edits, const std::vector<int64_t>& shorter = {}) const;
  int64_t gained(const Ends& with) const { return unchanged_.variants[0] - with.variants[0]; }
  // `unmatched`: share of operations that no verdict could be joined to.
  Estimate estimate(std::span<const Edit> edits, double unmatched = 0) const {
    return estimate_beyond(unchanged_, edits, edits, unmatched);
  }
  // What `edits` gain where others are made already: the ends with those are `before`, and `all` are both.
  Estimate estimate_beyond(const Ends& before, std::span<const Edit> all, std::span<const Edit> edits,
                           double unmatched = 0) const;
  // What is gained where GPU work takes less time, with `edits` made already, with which it ends at `before`.
  Estimate estimate_shorter(const Ends& before, std::span<const Edit> edits,
                            const std::vector<int64_t>& shorter) const;
  const Ends& unchanged() const { return unchanged_; }

  const Schedule& schedule() const { return schedule_; }
  const Machine& machine() const { return variants_[0].machine; }
  int64_t mismatch() const { return mismatch_; }  // of the replayed recorded run's time

 private:
  // One way in which the run may have gone: durations and machine, with where the unchanged run is idle under them.
  struct Variant {
    Cause cause = Cause::count_;
    Machine machine;
    int64_t wake_up_differs = 0;  // from the run's that told the GPU times
    std::vector<int64_t> durations;
    std::vector<Checkpoint> checkpoints;
  };

  bool place_kernels(Machine& machine) const;
  struct Wanted {
    Machine machine;
    Fill fill = Fill::equal;
    Cause cause = Cause::count_;
  };
  Variant made_variant(const KnownTimes& times, const Wanted& wanted) const;
  std::vector<int64_t> add_variants(const KnownTimes& times, const std::vector<Wanted>& wanted,
                                    bool with_mismatch = false);
  int64_t recorded_mismatch(const Variant& variant) const;
  Outcome run(const Variant& variant, const Setting& how, std::span<const Edit> edits) const;
  void include_variants(const Ends& before, const Ends& after, Spread& spread) const;
  void include_orders(const Ends& before, const Ends& after, Spread& spread) const;
  int64_t time_of(std::span<const Edit> edits) const;
  int64_t most_by_moving(std::span<const Edit> edits) const;
  void differences(std::span<const Edit> edits, Spread& spread) const;
  // Who finds a lock free has what it needs: who does not have it sleeps, or asks again. So the estimate takes free locks
  // in any order, and the recorded order is in the range.
  static Setting setting() { return {true, true, true, false}; }
  static Setting in_order() { return {true, true, true, true}; }
  static Setting sleeps_as_recorded() { return {true, true, true, false, false}; }

  std::shared_ptr<const Schedule> shared_;
  const Schedule& schedule_ = *shared_;
  std::vector<Variant> variants_;  // the first is the estimate
  Ends unchanged_;
  int64_t mismatch_ = 0;
  int64_t calls_time_ = 0;  // of all nodes
  bool all_known_ = false;
  bool several_streams_ = false;
};

}  // namespace replay
}  // namespace diogenes
