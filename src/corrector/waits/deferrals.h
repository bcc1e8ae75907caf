// The waits that were deferred: until which marks, and who waits for them now.
#pragma once
#include <atomic>

#include "corrector/counts.h"
#include "corrector/transfers/deliveries.h"
#include "corrector/waits/marks.h"

namespace diogenes::corrector {

inline constexpr uint32_t kDeferrals = 4096;  // remembered; a power of two

class Deferrals {
 public:
  Deferrals(Marks& marks, Counts& counts, Deliveries& deliveries)
      : marks_(marks), counts_(counts), deliveries_(deliveries) {}

  // In hooks, under the corrector's lock.
  Deferral begin(int site);  // the next one; nothing is deferred yet
  // It waits for these streams. Is something to need it, by what the report says?
  void note_wait(Deferral deferral, uint64_t streams, bool is_needed);
  bool add(Deferral deferral, const Mark& mark);  // false: too many streams
  bool add_pending(Deferral deferral);            // the marks of all earlier ones that are not done
  // A mark in each of these streams, one bit each. False: too many, or the driver refused; the deferral is cancelled then.
  bool put_marks(Deferral deferral, uint64_t streams);
  void cancel(Deferral deferral) { at(deferral).count = 0; }
  bool full();                        // no further one, before some are awaited
  bool order_behind_all(int stream);  // false: the driver refused

  // In signals' handlers, too, on any thread. Done: the GPU's work is, and what it brought is delivered.
  bool done(Deferral deferral) const { return deliveries_.next(deferral) == 0 && reached(deferral); }
  // `touched`: somebody came for the results; else a call has to see them done. Out: how long it waited for the GPU, in ns.
  int64_t await(Deferral deferral, bool touched, const CorrectorServices& services);
  void await_all(Deferral last, const CorrectorServices& services);  // and all before
  // As await_all(), and delivers nothing. Out: as await().
  int64_t await_gpu(Deferral last, const CorrectorServices& services);
  // What it surely protects was used, and no wait since was made: if nothing was to need it, that was wrong, and the site
  // is corrected no more. Where one that something needs came later, that one told the program.
  void note_use(Deferral deferral);
  Deferral latest() const { return latest_.load(std::memory_order_acquire); }

  void end() { over_.store(true, std::memory_order_relaxed); }  // all is done, and the marks' memory goes

  // The watchman's: somebody has waited for long.
  void look_for_failures();

 private:
  struct Deferred {
    Mark marks[kMostMarks];
    int count, site;
    std::atomic<uint64_t> unneeded;  // the streams that it waits for, if nothing is to need it
    std::atomic<bool> touched;
  };
  bool reached(Deferral deferral) const;  // the GPU's work is done
  int64_t wait_for(Deferral deferral, const CorrectorServices& services);
  int64_t deliver(Deferral last, const CorrectorServices& services);
  void pass_done();
  Deferred& at(Deferral deferral) { return ring_[deferral % kDeferrals]; }
  const Deferred& at(Deferral deferral) const { return ring_[deferral % kDeferrals]; }

  Marks& marks_;
  Counts& counts_;
  Deliveries& deliveries_;
  Deferred ring_[kDeferrals];
  // By stream: the latest, when a wait for it that something needs was deferred.
  std::atomic<Deferral> needed_[kStreams] = {};
  std::atomic<Deferral> first_{1};  // that may not be done
  std::atomic<Deferral> latest_{0};
  std::atomic<int> waiting_{0};      // threads in await()
  std::atomic<bool> failed_{false};  // work failed: no mark comes any more
  std::atomic<bool> over_{false};
};

}  // namespace diogenes::corrector
