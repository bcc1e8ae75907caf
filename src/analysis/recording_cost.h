// What recording took out of the CPU work around the operations of one thread. In: a process of stage 2. Out:
// for each operation, in their order, the time before its call and behind it: the process's usual cost, all
// of it behind the call, or what was noted of that one (LongRecording).
#pragma once
#include <algorithm>

#include "analysis/run.h"

namespace diogenes {

class RecordingCost {
 public:
  struct Around {
    Nanoseconds before, behind;
  };

  RecordingCost(const Process& process, const Thread& thread)
      : usual_{std::clamp<int64_t>(process.trace->process.hook_cost_ns, 0, kLongestUsual)},
        next_(thread.long_recordings.begin()),
        end_(thread.long_recordings.end()) {}

  // `operation`: no smaller than the last one asked for.
  Around of(uint32_t operation) {
    while (next_ != end_ && next_->operation < operation) ++next_;
    if (next_ == end_ || next_->operation != operation) return {{}, usual_};
    return {next_->before, next_->after};
  }

 private:
  static constexpr int64_t kLongestUsual = 100'000;
  Nanoseconds usual_;
  std::vector<LongRecording>::const_iterator next_, end_;
};

}  // namespace diogenes
