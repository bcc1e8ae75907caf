#include "device.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "calls/objects.h"
#include "clock.h"
#include "costs.h"
#include "gpu_times_table.h"
#include "late/late_mode.h"

namespace diogenes::sim {
namespace {

constexpr size_t kLargeEffect = 64 * 1024;   // bytes: from here on, outside the lock
constexpr size_t kShortEffect = 512 * 1024;  // up to here, some tens of microseconds
constexpr int64_t kPollPeriod = 20000, kSlowPollPeriod = 50000, kSlowPollsAfter = 2000000;
// While the program makes calls, and for a while after, the device thread looks by itself every now and then:
// waking it would cost those calls some microseconds, now more and now less. What is due while a thread waits
// is left to that one: on another processor it takes longer, by what their caches have to tell each other.
constexpr int64_t kWakeBefore = 10000, kShortestSleep = 20000, kNap = 50000, kNapBesideWaiters = 100000,
                  kStaysAwake = 3000000;
// After a copy it looks all the time, waiting threads or not: what moves the bytes has to have begun in time
// to be done at their modelled end, and a program that is busy until then does not help.
constexpr int64_t kWatchesFor = 1000000;
constexpr int kLooksBeforeYield = 16;

// A thread of the driver's own: the program's signals are not for it, but for the adversarial mode's.
template <typename Body>
bool start_thread(Body body) {
  sigset_t all, before;
  sigfillset(&all);
  if (late_mode) sigdelset(&all, SIGSYS);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread(body).detach();
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace

Device& device() {
  static Device* the_device = new Device;
  return *the_device;
}

void Device::push(int64_t at_ns, const OpPtr& op) {
  timeline_.push({at_ns, op->sequence, op});
  note_next_event();
}

void Device::note_next_event() {
  const int64_t next = !large_effects_.empty() ? 0 : timeline_.empty() ? INT64_MAX : timeline_.top().at_ns;
  next_event_ns_.store(next, std::memory_order_relaxed);
}

void Device::wake_device_thread(int64_t at_ns) {
  if (!device_thread_runs_) {
    device_thread_runs_ = start_thread([this] { device_thread(); });
    return;
  }
  if (at_ns + kNapBesideWaiters < asleep_until_ns_) {
    asleep_until_ns_ = 0;
    device_wake_.notify_one();
  }
}

void Device::nobody_waits() {
  if (next_event() == INT64_MAX) return;
  std::lock_guard held(lock);
  wake_for_what_is_left(now_ns());
}

void Device::wake_for_what_is_left(int64_t now) {
  if (!large_effects_.empty())
    wake_device_thread(now);
  else if (!timeline_.empty())
    wake_device_thread(timeline_.top().at_ns);
}

void Device::submit(const OpPtr& op, const std::vector<OpPtr>& dependencies) {
  const int64_t now = now_ns();
  op->sequence = ++next_sequence_;
  note_submitted(*op);
  polled_for_ += op->work.is_polled_for;
  op->ready_ns = now + op->work.latency_ns;
  if (late_mode) {
    op->submitted_ns = now;
    for (const OpPtr& dependency : dependencies)
      if (dependency && !dependency->done.load(std::memory_order_relaxed)) op->after.push_back(dependency);
    std::erase_if(late_, [](const OpPtr& other) { return other->done.load(std::memory_order_relaxed); });
    late_.push_back(op);
    return;
  }
  last_call_ns_ = now;
  if (op->work.bytes >= kLargeEffect) last_large_ns_ = now;
  do_due(now);  // what was ready before this operation gets its engine first
  for (const OpPtr& dependency : dependencies) {
    if (!dependency) continue;
    if (dependency->done.load(std::memory_order_relaxed)) {
      op->ready_ns = std::max(op->ready_ns, dependency->end_ns);
    } else {
      dependency->dependents.push_back(op);
      ++op->pending;
    }
  }
  if (op->pending == 0) {
    schedule(op);
    advance(now);
  }
}

void Device::schedule(const OpPtr& op) {
  Work& work = op->work;
  int64_t& engine_free = engine_free_ns_[static_cast<int>(work.engine)];
  op->begin_ns = work.engine == Engine::none ? op->ready_ns : std::max(op->ready_ns, engine_free);
  int64_t at = op->begin_ns;
  if (work.kind == Kind::timed) {
    op->end_ns = op->begin_ns + work.duration_ns;
    if (work.engine != Engine::none) engine_free = op->end_ns;
    at = std::max(op->begin_ns, op->end_ns - simulation_ns(work.bytes));
  }
  push(at, op);
}

void Device::do_due(int64_t now) {
  while (!timeline_.empty() && timeline_.top().at_ns <= now) {
    const OpPtr op = timeline_.top().op;
    timeline_.pop();
    step(op, now);
  }
  note_next_event();
}

void Device::advance(int64_t now) {
  do_due(now);
  wake_for_what_is_left(now);
}

void Device::help(int64_t now) {
  std::unique_lock held(lock, std::try_to_lock);
  if (!held) return;
  last_call_ns_ = now;
  do_due(now);
  // A short one is over before the device thread would have woken for it; a long one is left to that thread
  // where something else, which may be waited for, is over first.
  while (!large_effects_.empty() &&
         (large_effects_.front()->work.bytes <= kShortEffect || timeline_.empty() ||
          timeline_.top().at_ns >= large_effects_.front()->end_ns)) {
    run_large_effect(held);
    do_due(now_ns());
  }
  advance(now);
}

void Device::step(const OpPtr& op, int64_t now) {
  switch (op->work.kind) {
    case Kind::timed:
      if (op->effect_ran || !op->work.effect) {
        if (op->end_ns > now)
          push(op->end_ns, op);
        else
          complete(op, op->end_ns);
      } else if (op->work.bytes >= kLargeEffect) {
        large_effects_.push_back(op);
      } else {
        run_effect(op);
      }
      break;
    case Kind::polled:
      run_effect(op);
      break;
    case Kind::by_host:
      op->running.store(true, std::memory_order_release);
      break;
    case Kind::callback:
      callbacks_.push_back(op);
      start_callbacks();
      break;
  }
}

void Device::run_effect(const OpPtr& op) {
  const Effect result = op->work.effect();
  after_effect(op, result, 0, now_ns());
}

void Device::run_large_effect(std::unique_lock<std::mutex>& held) {
  const OpPtr op = large_effects_.front();
  large_effects_.pop_front();
  note_next_event();
  held.unlock();
  const int64_t begun = thread_ns();
  const Effect result = op->work.effect();
  const int64_t took = thread_ns() - begun;
  held.lock();
  after_effect(op, result, took, now_ns());
}

void Device::after_effect(const OpPtr& op, Effect result, int64_t took_ns, int64_t now) {
  if (result == Effect::illegal_address) fail(*op, CUDA_ERROR_ILLEGAL_ADDRESS);
  if (op->work.kind == Kind::polled) {
    if (result != Effect::not_yet) return complete(op, now);
    push(now + (now - op->begin_ns < kSlowPollsAfter ? kPollPeriod : kSlowPollPeriod), op);
    return;
  }
  op->effect_ran = true;
  op->took_ns = took_ns;
  if (op->end_ns > now)
    push(op->end_ns, op);
  else
    complete(op, op->end_ns);
}

void Device::fail(Op& op, CUresult error) {
  if (op.context) op.context->sticky_error.store(error, std::memory_order_relaxed);
}

void Device::complete(const OpPtr& op, int64_t end_ns) {
  // Where the simulator is slower than the modelled GPU (not where its thread only came late), what follows may make up for
  // it: that begins as modelled. Where nothing follows, device time slips.
  const int64_t there_ns = std::max(end_ns, std::max(op->begin_ns, op->inputs_ns) + op->took_ns);
  op->end_ns = op->dependents.empty() && op->work.kind == Kind::timed ? there_ns : end_ns;
  note_ended(*op);
  int64_t& engine_free = engine_free_ns_[static_cast<int>(op->work.engine)];
  if (op->work.engine != Engine::none) engine_free = std::max(engine_free, op->end_ns);
  if (op->stream) {
    op->stream->queued.fetch_sub(1, std::memory_order_relaxed);
    op->stream.reset();
  }
  polled_for_ -= op->work.is_polled_for;
  op->work.effect = nullptr;
  op->after.clear();
  op->done.store(true, std::memory_order_release);
  for (const OpPtr& dependent : op->dependents) {
    dependent->ready_ns = std::max(dependent->ready_ns, op->end_ns);
    dependent->inputs_ns = std::max(dependent->inputs_ns, there_ns);
    if (--dependent->pending == 0) schedule(dependent);
  }
  op->dependents.clear();
  op->dependents.shrink_to_fit();
}

void Device::finish(const OpPtr& op, int64_t end_ns) {
  complete(op, end_ns);
  advance(now_ns());
}

void Device::watch_for_events(int64_t until_ns) const {
  for (int looks = 1;; ++looks) {
    const int64_t now = now_ns();
    if (next_event() <= now || now >= until_ns) return;
    if (looks % kLooksBeforeYield == 0)
      sched_yield();
    else
      cpu_relax();
  }
}

void Device::device_thread() {
  late_inside_driver = 1;
  prctl(PR_SET_TIMERSLACK, 1UL);
  // Takes an idle processor, but not that of the program's thread.
  const sched_param unused{};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &unused);
  pthread_setname_np(pthread_self(), "simulated-gpu");
  std::unique_lock held(lock);
  for (;;) {
    while (!large_effects_.empty()) run_large_effect(held);
    const int64_t now = now_ns();
    const bool beside = host_waiters.load(std::memory_order_relaxed) > 0;
    // Nobody helps who polls, and sleep may end late.
    const bool due_to_pollers = polled_for_ > 0 && next_event() < now + kWakeBefore + kShortestSleep;
    const bool watches = now - last_large_ns_ < kWatchesFor || due_to_pollers;
    if (!beside || watches || next_event() + kNapBesideWaiters <= now) advance(now);
    if (!large_effects_.empty()) continue;
    if (watches) {
      held.unlock();
      watch_for_events(now + kNap);
      held.lock();
      continue;
    }
    const int64_t next = timeline_.empty() ? INT64_MAX
                         : beside          ? timeline_.top().at_ns + kNapBesideWaiters
                                           : timeline_.top().at_ns - kWakeBefore;
    const bool called = now - last_call_ns_ < kStaysAwake;
    const int64_t latest = !called ? INT64_MAX : now + (beside ? kNapBesideWaiters : kNap);
    asleep_until_ns_ = std::clamp(next, now + kShortestSleep, latest);
    if (asleep_until_ns_ == INT64_MAX)
      device_wake_.wait(held);
    else
      device_wake_.wait_for(held, std::chrono::nanoseconds(asleep_until_ns_ - now));
    asleep_until_ns_ = 0;
  }
}

void Device::start_callbacks() {
  if (!callback_thread_runs_) callback_thread_runs_ = start_thread([this] { callback_thread(); });
  callback_wake_.notify_one();
}

void Device::callback_thread() {
  late_inside_driver = 1;
  pthread_setname_np(pthread_self(), "simulated-calls");
  sigset_t none;  // as measured of the real one: the program's functions may fault on it
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  std::unique_lock held(lock);
  for (;;) {
    while (callbacks_.empty()) callback_wake_.wait(held);
    const OpPtr op = callbacks_.front();
    callbacks_.pop_front();
    held.unlock();
    const int error = op->context ? op->context->sticky_error.load(std::memory_order_relaxed) : 0;
    late_inside_driver = 0;  // this is the program's
    op->work.function(static_cast<CUresult>(error));
    late_inside_driver = 1;
    held.lock();
    complete(op, now_ns());
    advance(now_ns());
  }
}

}  // namespace diogenes::sim
