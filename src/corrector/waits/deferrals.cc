#include "corrector/waits/deferrals.h"

#include <sys/syscall.h>

#include "corrector/waits/wait_clock.h"

namespace diogenes::corrector {

namespace {

// As the driver waits: with a look at the word again and again; after 10 ms with sleep between the looks.
void pause_for(int64_t waited, const CorrectorServices& services) {
  constexpr int64_t kLooking = 50'000, kYielding = 10'000'000;
  if (waited < kLooking) {
    for (int i = 0; i < 32; ++i) __builtin_ia32_pause();
  } else if (waited < kYielding) {
    services.system_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
  } else {
    timespec nap{0, 50'000};
    services.system_call(SYS_nanosleep, reinterpret_cast<long>(&nap), 0, 0, 0, 0, 0);
  }
}

}  // namespace

Deferral Deferrals::begin(int site) {
  const Deferral next = latest() + 1;
  Deferred& deferred = at(next);
  deferred.count = 0, deferred.site = site;
  deferred.unneeded.store(0, std::memory_order_relaxed);
  deferred.touched.store(false, std::memory_order_relaxed);
  latest_.store(next, std::memory_order_release);
  return next;
}

bool Deferrals::add(Deferral deferral, const Mark& mark) {
  Deferred& deferred = at(deferral);
  for (int i = 0; i < deferred.count; ++i) {
    Mark& known = deferred.marks[i];
    if (known.stream != mark.stream) continue;
    if (static_cast<int32_t>(known.sequence - mark.sequence) < 0) known.sequence = mark.sequence;
    return true;
  }
  if (deferred.count == kMostMarks) return false;
  deferred.marks[deferred.count] = mark;
  __atomic_store_n(&deferred.count, deferred.count + 1, __ATOMIC_RELEASE);
  return true;
}

void Deferrals::note_wait(Deferral deferral, uint64_t streams, bool is_needed) {
  if (!is_needed) {
    at(deferral).unneeded.store(streams, std::memory_order_relaxed);
    return;
  }
  for (int i = 0; i < kStreams; ++i)
    if (streams >> i & 1) needed_[i].store(deferral, std::memory_order_relaxed);
}

void Deferrals::note_use(Deferral deferral) {
  if (latest() - deferral >= kDeferrals) return;
  const Deferred& deferred = at(deferral);
  const uint64_t streams = deferred.unneeded.load(std::memory_order_relaxed);
  if (streams == 0) return;
  for (int i = 0; i < kStreams; ++i)
    if ((streams >> i & 1) && needed_[i].load(std::memory_order_relaxed) >= deferral) return;
  counts_.add_used(deferred.site);
}

bool Deferrals::put_marks(Deferral deferral, uint64_t streams) {
  for (int i = 0; i < kStreams; ++i) {
    Mark mark;
    if (!(streams >> i & 1)) continue;
    if (!marks_.put(i, mark) || !add(deferral, mark)) {
      cancel(deferral);
      return false;
    }
  }
  return true;
}

bool Deferrals::add_pending(Deferral deferral) {
  pass_done();
  for (Deferral i = first_.load(std::memory_order_relaxed); i < deferral; ++i)
    for (int k = 0; k < at(i).count; ++k)
      if (!marks_.reached(at(i).marks[k]) && !add(deferral, at(i).marks[k])) return false;
  return true;
}

bool Deferrals::reached(Deferral deferral) const {
  if (failed_.load(std::memory_order_relaxed) || over_.load(std::memory_order_relaxed) ||
      latest() - deferral >= kDeferrals)
    return true;
  const Deferred& deferred = at(deferral);
  for (int i = 0; i < __atomic_load_n(&deferred.count, __ATOMIC_ACQUIRE); ++i)
    if (!marks_.reached(deferred.marks[i])) return false;
  return true;
}

void Deferrals::pass_done() {
  Deferral first = first_.load(std::memory_order_relaxed);
  while (first <= latest() && reached(first)) ++first;
  first_.store(first, std::memory_order_relaxed);
}

bool Deferrals::full() {
  pass_done();
  constexpr Deferral kOfOneCall = 4;
  return latest() - first_.load(std::memory_order_relaxed) + kOfOneCall >= kDeferrals;
}

bool Deferrals::order_behind_all(int stream) {
  pass_done();
  bool made = false;
  for (Deferral i = first_.load(std::memory_order_relaxed); i <= latest(); ++i)
    for (int k = 0; k < at(i).count; ++k) {
      const Order order = marks_.order_behind(stream, at(i).marks[k]);
      if (order == Order::refused) return false;
      made |= order == Order::made;
    }
  if (made) counts_.add_ordered();
  return true;
}

void Deferrals::await_all(Deferral last, const CorrectorServices& services) {
  await_gpu(last, services);
  deliver(last, services);
}

int64_t Deferrals::await_gpu(Deferral last, const CorrectorServices& services) {
  int64_t waited = 0;
  for (Deferral i = first_.load(std::memory_order_relaxed); i <= last; ++i)
    if (!reached(i)) waited += wait_for(i, services);
  return waited;
}

int64_t Deferrals::wait_for(Deferral deferral, const CorrectorServices& services) {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  const int64_t begin = now();
  int64_t waited = 0;
  for (; !reached(deferral); waited = now() - begin) pause_for(waited, services);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  counts_.add_awaited(waited);
  return waited;
}

// Each in its turn, once the GPU has brought it.
int64_t Deferrals::deliver(Deferral last, const CorrectorServices& services) {
  int64_t waited = 0;
  while (const Deferral next = deliveries_.next(last)) {
    if (!reached(next)) waited += wait_for(next, services);
    deliveries_.deliver(next, failed_.load(std::memory_order_relaxed));
  }
  return waited;
}

int64_t Deferrals::await(Deferral deferral, bool touched, const CorrectorServices& services) {
  const bool early = !reached(deferral);
  int64_t waited = early ? wait_for(deferral, services) : 0;
  waited += deliver(deferral, services);
  const bool first = touched && early && !at(deferral).touched.exchange(true, std::memory_order_relaxed);
  if (first && at(deferral).site >= 0) counts_.add_touched(at(deferral).site);
  return waited;
}

void Deferrals::look_for_failures() {
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  const Deferral last = latest();
  for (Deferral i = last < kDeferrals ? 1 : last - kDeferrals + 2; i <= last; ++i) {
    if (reached(i)) continue;
    for (int k = 0; k < at(i).count; ++k)
      if (marks_.failed(at(i).marks[k].stream) && !failed_.exchange(true)) counts_.add_failed();
  }
}

}  // namespace diogenes::corrector
