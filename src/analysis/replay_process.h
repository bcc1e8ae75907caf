// The model `replay` for one process: its schedule, run again in every way in which it may have gone.
#pragma once
#include <string>

#include "analysis/replay_durations.h"

namespace diogenes {

struct Estimate {
  Nanoseconds benefit, low, high;
  std::string reason;  // why the range is wide; "" if it is not
};

namespace replay {

// A moved wait's place: where the CPU's progress was at a recorded time.
void place_use(const ThreadSchedule& thread, int64_t time, Edit& edit);

class ProcessReplay {
 public:
  ProcessReplay(Schedule recorded, const KnownTimes& times, const Machine& assumed);

  // `edits`: sorted by position. `unmatched`: share of operations that no verdict could be joined to.
  Estimate estimate(std::span<const Edit> edits, double unmatched = 0) const;

  const Schedule& schedule() const { return schedule_; }
  const Machine& machine() const { return variants_[0].machine; }
  int64_t mismatch() const { return mismatch_; }  // of the replayed recorded run's time

 private:
  // One way in which the run may have gone: durations and machine, with the unchanged run under them.
  struct Variant {
    Machine machine;
    std::vector<int64_t> durations;
    std::vector<Checkpoint> checkpoints;
    Outcome base;
  };

  void add_variant(const KnownTimes& times, const Machine& machine, Fill fill);
  int64_t recorded_mismatch(const Variant& variant) const;
  void independent_range(std::span<const Edit> edits, Estimate& out) const;
  double time_of(std::span<const Edit> edits) const;
  Setting setting() const { return {schedule_.hook_cost, true, true}; }

  Schedule schedule_;
  std::vector<Variant> variants_;  // the first is the estimate
  Outcome independent_;            // unchanged, threads taken as independent
  int64_t mismatch_ = 0;
  bool several_streams_ = false;
};

}  // namespace replay
}  // namespace diogenes
