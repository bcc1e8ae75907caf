// From CUPTI's thread, which learns when work ran, to the program's threads, which write it down: batches in
// the order in which they were given. The giving side may be entered by several threads of CUPTI's, which
// take turns; the taking side is one at a time, and a second taker goes away with nothing. Nobody waits for
// the other side: the list of full batches is taken as a whole (exchange), empty ones come back the same way.
#pragma once
#include <atomic>
#include <cstddef>

#include "driver/gpu_times_source.h"

namespace diogenes {

class TimesChannel {
 public:
  static constexpr size_t kBatch = 1000;

  // ---- CUPTI's threads
  class Giver;

  // ---- the program's threads
  size_t take(GpuTime* times, size_t most);

  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  struct Batch {
    Batch* next;
    size_t count, taken;
    GpuTime times[kBatch];
  };

  // A stack of batches: pushed one at a time, taken as a whole, so that no pop races with another.
  class Stack {
   public:
    void push(Batch* batch);
    Batch* take_all() {
      // acquire: what is in the batches; pairs with the release in push().
      return top_.exchange(nullptr, std::memory_order_acquire);
    }

   private:
    std::atomic<Batch*> top_{nullptr};
  };

  Batch* empty_batch();
  void give(Batch* batch);

  Stack full_, empty_;
  Batch* spare_ = nullptr;                // the giving side's
  Batch* reading_ = nullptr;              // the taking side's, oldest first
  std::atomic_flag giving_{}, taking_{};  // acquire and release: the two fields above
  std::atomic<uint64_t> lost_{0};
};

// One delivery: gives what it was told when it ends.
class TimesChannel::Giver {
 public:
  explicit Giver(TimesChannel& channel);
  ~Giver();
  Giver(const Giver&) = delete;
  Giver& operator=(const Giver&) = delete;
  void add(const GpuTime& time);

 private:
  TimesChannel& channel_;
  Batch* batch_ = nullptr;
};

}  // namespace diogenes
