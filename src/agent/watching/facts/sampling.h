// Which occurrences of a call are looked at (--max-overhead). While the agent takes more than the budget, the
// site whose looking costs most is looked at half as often. What is not looked at has no hash, its memory is
// not watched, and the records say so. In: what looking cost, what the agent took. Out: yes or no.
#pragma once
#include "agent/core/spent.h"
#include "base/units.h"

namespace diogenes::agent::facts {

inline constexpr Nanoseconds kUsualFault{5'000}, kUsualStep{15'000};

struct Budget {
  double factor;  // run time of the stage / of the baseline; 0: no limit
  Nanoseconds baseline;
  bool is_over(Nanoseconds spent, Nanoseconds elapsed) const;
  // The run has taken so long already, by half a baseline, whatever took the time: nothing more is looked at.
  bool is_used_up(Nanoseconds elapsed) const;
};

using SampledSite = uint16_t;  // 0: none, always looked at

class Sampling {  // serialised by the collector's lock, but for charge()
 public:
  void start(const Budget& budget);
  SampledSite site_of(uint32_t stack, uint16_t function);
  bool look(SampledSite number);  // at the site's next occurrence
  void charge(SampledSite number, Nanoseconds cost) {
    __atomic_fetch_add(&sites_[number].cost, cost.count, __ATOMIC_RELAXED);
  }
  void charge_since(SampledSite number, Nanoseconds begin) { charge(number, monotonic_now() - begin); }
  void adapt(Nanoseconds spent, Nanoseconds elapsed);
  bool ends(Nanoseconds elapsed);  // true once: the budget is used up, and look() says no from now on

 private:
  struct Site {
    uint32_t stack, occurrences;
    uint16_t function;
    uint8_t halvings;  // one in 2^halvings is looked at
    bool used;
    int64_t cost;  // in ns, since the last decision
  };
  static constexpr uint32_t kSites = 1024;
  Budget budget_;
  Site sites_[1 + kSites];
  Nanoseconds spent_, elapsed_;  // at the last decision
  bool used_up_;
};
Sampling& sampling();  // the process's own

}  // namespace diogenes::agent::facts
