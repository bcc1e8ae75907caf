// How busy the processors are that this process may use, with whatever runs there. Source: /proc/stat.
#pragma once
#include <sched.h>

#include <optional>
#include <string>

namespace diogenes::launcher {

struct ProcessorTime {
  int processors = 0;
  double busy_s = 0;  // since boot, of all of them: not idle, or taken by the machine below
};

// None: it does not say.
std::optional<ProcessorTime> processor_time();
std::optional<ProcessorTime> processor_time(const std::string& stat, const cpu_set_t& allowed,
                                            double ticks_per_second);

// How many processors others than this process and its children keep busy on average, from when it is made on.
class OthersLoad {
 public:
  OthersLoad();
  // `children_s`: what our children used meanwhile. 0: not known, or nobody.
  double processors_taken(double children_s) const;
  int processors() const { return begin_ ? begin_->processors : 0; }

 private:
  std::optional<ProcessorTime> begin_;
  double begin_s_, own_s_;
};

}  // namespace diogenes::launcher
