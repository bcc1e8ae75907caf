// The exhaustive oracle of the tests: the order of a trace as a graph, closed transitively, and all pairs of
// conflicting accesses. It shares no code with the judge and takes no short cuts, so it is for small traces.
#pragma once
#include <bitset>
#include <string>
#include <vector>

#include "analysis/necessity/events.h"

namespace diogenes::necessity::testing {

inline constexpr size_t kMostEvents = 256;
using EventSet = std::bitset<kMostEvents>;

class Oracle {
 public:
  explicit Oracle(const std::vector<Event>& events);
  // Do all pairs that were ordered stay ordered, as surely, without these synchronizations (by the order of
  // their events)? Empty: yes. Else: the first pair that does not. `orders`: of those, what its thread gives the GPU later still
  // comes behind; empty: none.
  std::string broken_without(const std::vector<bool>& removed, const std::vector<bool>& orders = {}) const;
  // The fewest sites that have to stay. At most 12 sites.
  size_t fewest_sites() const;
  const std::vector<size_t>& synchronizations() const { return synchronizations_; }  // their events

 private:
  struct Order {
    std::vector<EventSet> cpu;     // work that is done when the thread has come past event i
    std::vector<EventSet> gpu;     // work that is done before the work of event i is, and itself
    std::vector<EventSet> marked;  // what a mark stands for, at its recording
    // What a synchronization itself covers.
    std::vector<EventSet> covered;
  };
  struct Pair {
    size_t work;          // its event
    size_t use;           // event
    bool on_gpu;          // the use is GPU work
    bool let_go = false;  // by whatever a thread did at event `use`
    size_t gated = 0;     // let_go: the work that it let go
  };
  enum class Level { solid, certain, possible };
  Order order(Level level, const std::vector<bool>& removed, const std::vector<bool>& orders = {}) const;
  void find_pairs();
  void find_work_that_lets_go();
  bool ordered(const Order& order, const Pair& pair) const {
    return (pair.on_gpu ? order.gpu : order.cpu)[pair.use][pair.work];
  }
  size_t call_of(size_t event) const { return calls_[event]; }

  const std::vector<Event>& events_;
  std::vector<size_t> calls_;             // the beginning of the call that an event is in; else itself
  std::vector<size_t> before_;            // the event before it in its thread; kMostEvents: none
  std::vector<size_t> synchronizations_;  // events
  std::vector<size_t> number_;            // of an event: which synchronization it is
  Order solid_, certain_, possible_;
  std::vector<std::vector<size_t>> lets_go_;  // for work behind a gate: the events that may let it go
  // For a gate: the work that may let it go, and since which event both are there.
  std::vector<std::vector<std::pair<size_t, size_t>>> let_go_by_;
  std::vector<EventSet> done_before_;  // work that some thread knew to be done before event i
  std::vector<Pair> pairs_;
};

}  // namespace diogenes::necessity::testing
