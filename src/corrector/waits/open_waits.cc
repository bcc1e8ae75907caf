#include "corrector/waits/open_waits.h"

namespace diogenes::corrector {

void OpenWaits::add(uint64_t streams) {
  open_ |= streams, placed_ &= ~streams;
  ++added_;
}

bool OpenWaits::mark(uint64_t streams) {
  if (deferrals_.full() || !deferrals_.put_marks(deferrals_.begin(-1), streams)) return false;
  open_ &= ~streams;
  return true;
}

bool OpenWaits::mark_others(int stream) {
  const uint64_t others = stream < 0 ? open_ : open_ & ~(uint64_t{1} << stream);
  return others == 0 || ((others & placed_) == 0 && mark(others));
}

bool OpenWaits::mark_own(int stream, Gives gives) {
  const uint64_t own = without_place() & uint64_t{1} << stream;
  if (own == 0) return true;
  if (!marks_.several()) {
    if (gives == Gives::what_ends) return true;
    if (awaiting_places_ == 0 && marks_.place(stream)) {
      placed_ |= own;
      return true;
    }
  }
  return mark(own);
}

OpenWaits::Awaited OpenWaits::begin_await(bool others) {
  if (others && without_place() != 0) mark(without_place());
  const Awaited awaited{open_, placed_, added_};
  if (!others) close();
  awaiting_places_ += awaited.places != 0;
  return awaited;
}

void OpenWaits::wait_for(const Awaited& awaited) const {
  for (int i = 0; i < kStreams; ++i) {
    if (!(awaited.streams >> i & 1)) continue;
    if (awaited.places >> i & 1)
      marks_.await_place(i);
    else
      marks_.synchronize(i);
  }
}

void OpenWaits::end_await(const Awaited& awaited) {
  awaiting_places_ -= awaited.places != 0;
  // What was added since has no mark yet, and took the place away if there was one.
  const uint64_t whole = awaited.streams & ~awaited.places;
  const uint64_t done = (placed_ & awaited.places) | (added_ == awaited.until ? whole : 0);
  open_ &= ~done, placed_ &= ~done;
}

}  // namespace diogenes::corrector
