// From the first call that is corrected to the end: what was deferred is awaited, and what was kept is given back.
#pragma once
#include "corrector/corrector_state.h"

namespace diogenes::corrector {

// At the first site, under the lock. False: nothing can be corrected.
bool begin();
void stop_deferring();  // under the lock: end() comes
// What comes before the first site of the plan is the same in each run, and may scatter by more than there is to gain.
void note_first_call(const CorrectedCall& call);

// The rest not under the lock, which is not held while anybody waits: the GPU's work may wait for another thread, which
// makes calls of its own meanwhile.

// All that the GPU was given before deferred waits is done when it returns; what it brought may still have to be delivered,
// behind guards that stay. `others`: there are threads that make calls meanwhile, or streams that may be given work: waits
// that have no mark get one then, and what is given now comes behind it. Out: how long it waited for the GPU, in ns.
int64_t await_deferred(bool others);
// ... and all is delivered. Other threads go on meanwhile.
void await_and_deliver();
// ... and what the pool and the contents keep is freed, if the GPU comes to rest, and nobody but the caller captures.
// Out: how long it waited for the GPU, in ns.
int64_t give_back(bool others, int64_t patience_ns, int own_captures);
// ... and nothing more is corrected.
void end();

// While one of these lives, the calling thread waits. A handler of the program's that interrupts it and makes a call comes to
// await_before_unseen() first.
class Awaiting {
 public:
  explicit Awaiting(const OpenWaits::Awaited* open);  // what it waits for; null: for no open wait
  ~Awaiting();
  Awaiting(const Awaiting&) = delete;
  Awaiting& operator=(const Awaiting&) = delete;

 private:
  const OpenWaits::Awaited* open_before_;
  bool awaited_before_;
};
// All that was deferred, and what the interrupted thread waits for. The interrupted code holds nothing.
void await_before_unseen();

void finish();  // the process ends without exit()
void forget();  // this is a forked child

}  // namespace diogenes::corrector
