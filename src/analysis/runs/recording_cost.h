// What recording took out of the CPU work around the operations of one thread. In: a process of stage 2. Out:
// for each operation, in their order, the time before its call and behind it: the process's usual cost, all
// of it behind the call, or what was noted of that one (LongRecording); and inside the call, of its own time.
#pragma once
#include <algorithm>

#include "analysis/runs/run.h"

namespace diogenes {

class RecordingCost {
 public:
  struct Around {
    Nanoseconds before, inside, behind;
  };

  // `first`: no smaller operation will be asked for.
  RecordingCost(const Process& process, const Thread& thread, uint32_t first = 0)
      : operations_(thread.operations),
        inside_{std::clamp<int64_t>(process.trace->process.inside_call_ns, 0, kLongestInside)},
        inside_waiting_{
            std::clamp<int64_t>(process.trace->process.inside_waiting_call_ns, 0, kLongestInside)},
        usual_{std::clamp<int64_t>(process.trace->process.hook_cost_ns, 0, kLongestUsual)},
        next_(std::lower_bound(thread.long_recordings.begin(), thread.long_recordings.end(), first,
                               [](const LongRecording& recording, uint32_t operation) {
                                 return recording.operation < operation;
                               })),
        end_(thread.long_recordings.end()) {}

  // `operation`: no smaller than the last one asked for.
  Around of(uint32_t operation) {
    while (next_ != end_ && next_->operation < operation) ++next_;
    const Operation& one = operations_[operation];
    const Nanoseconds inside = std::min(one.has(kWaited) ? inside_waiting_ : inside_, one.own());
    if (next_ == end_ || next_->operation != operation) return {{}, inside, usual_};
    return {next_->before, inside, next_->after};
  }

 private:
  static constexpr int64_t kLongestUsual = 100'000, kLongestInside = 5'000;
  const std::vector<Operation>& operations_;
  Nanoseconds inside_, inside_waiting_, usual_;
  std::vector<LongRecording>::const_iterator next_, end_;
};

}  // namespace diogenes
