// Copies to the host that did not wait: the GPU brings their bytes into pinned memory of ours, and they are delivered to
// where the program wants them before anybody may see that place: its guard awaits them. They are delivered in the order
// in which the program asked for them, by whoever comes first.
#pragma once
#include <atomic>

#include "trace/corrector_services.h"

namespace diogenes::corrector {

class Deliveries {
 public:
  // In a hook. False: this process cannot write into memory that is guarded.
  bool start(const CorrectorServices& services);

  // In hooks, under the corrector's lock. `deferral` is done when the GPU has brought the bytes to `from`.
  bool full() const;
  void add(Deferral deferral, uint64_t host, uint64_t bytes, const void* from);
  // The latest that is still to come to some of these bytes; 0: none. `but_inside`: those that come to nothing else are
  // left out.
  Deferral to_come(uint64_t host, uint64_t bytes, bool but_inside);
  // The program's next copy overwrites these bytes: what was to come to nothing else is not delivered any more.
  void drop_inside(uint64_t host, uint64_t bytes);

  // In signals' handlers, too, on any thread.
  Deferral next(Deferral last) const;  // whose bytes are to be delivered next, of those up to `last`; 0: none
  // Those up to `last`, which the GPU has brought. `failed`: nothing came.
  void deliver(Deferral last, bool failed);

 private:
  static constexpr uint32_t kDeliveries = 2048;  // a power of two
  struct Delivery {
    Deferral deferral;
    uint64_t host, bytes;  // bytes 0: dropped
    const void* from;
  };
  class Turn;  // of one thread at a time
  long call(long number, long a, long b = 0, long c = 0, long d = 0, long e = 0) const {
    return services_->system_call(number, a, b, c, d, e, 0);
  }
  bool write(uint64_t to, const void* from, uint64_t bytes) const;
  void write_without_files(uint64_t to, const void* from, uint64_t bytes) const;

  Delivery ring_[kDeliveries];
  std::atomic<uint32_t> first_{0}, end_{0};  // counted on
  std::atomic<bool> busy_{false};
  const CorrectorServices* services_ = nullptr;
};

}  // namespace diogenes::corrector
