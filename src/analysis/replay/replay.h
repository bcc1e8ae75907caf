// Expected benefit by running the recorded schedule again with the change applied. Source: docs/models.md's
// `replay`, with GPU times and without. In: the run of stage 2, with GPU times (gpu_times.h) where there are
// any, changes. Out: the benefit and the range that it is in, with the reason where that is wide.
//
//   benefit = replay(recorded) - replay(changed)
//
// Both without the cost of tracing. The range spans what is not known: where between two known points the GPU
// was busy (durations.h), whether kernels of different streams could overlap, whether a moved wait is
// the same call (the figure assumes an event recorded where the wait was), how threads wait for each other,
// what sleeps cost that got longer or shorter, which operations had no counterpart in the run that judged them, by how much replaying the recorded run
// misses its time, how far the instances of a site differ, what hooks add inside very short calls, and by how
// much the wake-up differs between the run and the one that recorded GPU times.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "analysis/benefit/benefit.h"
#include "analysis/replay/process.h"
#include "analysis/replay/recorded/make_schedule.h"

namespace diogenes {

// From a launch's return to the kernel's start, from its end to the waiting thread's return, between two
// kernels: what is assumed where the run does not tell.
inline constexpr replay::Machine kAssumedMachine{2'000, 1'000, 500, 1024, false, true, true};

struct ReplayOptions {
  replay::Machine machine = kAssumedMachine;
  bool calibrated = false;  // `machine` was found from GPU times
  std::vector<SleepCost> sleep_costs;
  replay::Schedules schedules;  // of the run's processes; empty: they are made
};

class Replay {
 public:
  Replay(const Run& tracing, const SiteTable& sites, const EventGraph& graph,
         const ReplayOptions& options = {});
  ~Replay();
  Replay(Replay&&) noexcept;

  // The share of synchronizations and transfers that no verdict could be joined to.
  void set_unmatched(double share) { unmatched_ = share; }
  // Changes that are made already, and when each process ends with them.
  struct Made {
    std::vector<std::vector<replay::Edit>> edits;  // by process
    std::vector<replay::ProcessReplay::Ends> ends;
  };
  Made make(const std::vector<Change>& changes) const;
  // `changes`: in CPU order, one for each operation at most; of one problem or of several fixed together. `before`: what
  // they gain beyond those, in whose place they are where both change the same operation. Null: nothing was made.
  Estimate estimate(const std::vector<Change>& changes, const Made* before = nullptr) const;

  // By how much less time GPU work takes, by process and Node::gpu; empty: none.
  using Shorter = std::vector<std::vector<int64_t>>;
  // `less`: of each operation's work, asked by process, thread and operation of the tracing run.
  Shorter shorter_by(const std::function<Nanoseconds(uint32_t, uint32_t, uint32_t)>& less) const;
  // What that gains. `made`: beside these changes.
  Estimate estimate_shorter(const Shorter& shorter, const Made* made = nullptr) const;
  // Nodes that one such estimate goes through.
  size_t nodes() const;

  // By how much replaying the recorded run misses its time, of that time; the largest of all processes.
  double mismatch() const;
  // The same in time.
  Nanoseconds missed() const;

 private:
  struct Part;
  struct Gain;
  static Estimate combined(std::vector<Gain> found);
  static Estimate side_by_side(std::span<const Gain> processes);
  std::vector<std::vector<replay::Edit>> edits_of(const std::vector<Change>& changes) const;

  std::vector<std::unique_ptr<Part>> parts_;       // by process
  std::vector<std::pair<uint32_t, uint32_t>> of_;  // by thread of the graph: part, thread in its schedule
  double unmatched_ = 0;
};

}  // namespace diogenes
