#include "corrector/lifetime.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "corrector/waits/wait_clock.h"

namespace diogenes::corrector {

static std::atomic<bool> has_begun{false};  // this process came to a site of the plan
static bool sees_the_end = false;           // at_exit() is registered

// What this thread waits for: OpenWaits may not have it any more.
__attribute__((tls_model("initial-exec"))) static thread_local const OpenWaits::Awaited* open_here = nullptr;

Awaiting::Awaiting(const OpenWaits::Awaited* open)
    : open_before_(open_here), awaited_before_(agent.note_awaiting(true)) {
  if (open) open_here = open;
}

Awaiting::~Awaiting() {
  open_here = open_before_;
  agent.note_awaiting(awaited_before_);
}

void await_before_unseen() {
  // Who watches our own calls to the driver may make some there each time.
  constexpr int kMostInEachOther = 4;
  __attribute__((tls_model("initial-exec"))) static thread_local int depth = 0;
  if (depth == kMostInEachOther) return;
  ++depth;
  if (open_here) {
    agent.pass_hooks(+1);
    open_waits.wait_for(*open_here);
    agent.pass_hooks(-1);
  }
  await_and_deliver();
  --depth;
}

int64_t await_deferred(bool others) {
  if (state != State::on && state != State::ending) return 0;
  OpenWaits::Awaited open;
  Deferral last;
  agent.pass_hooks(+1);  // at the end of the process, no hook is under way
  {
    Lock lock;
    open = open_waits.begin_await(others);
    last = deferrals.latest();
    deferrals.note_wait(last, kAllStreams, true);  // the call may have told the program
  }
  int64_t waited = 0;
  if (open.streams != 0) {
    const int64_t begun = now();
    {
      const Awaiting here(&open);
      open_waits.wait_for(open);
    }
    waited = now() - begun;
    counts.add_awaited(waited);
    Lock lock;
    open_waits.end_await(open);
  }
  agent.pass_hooks(-1);
  {
    const Awaiting here(nullptr);
    waited += deferrals.await_gpu(last, agent);
  }
  const Deferral undelivered = deliveries.next(last);
  agent.release(undelivered == 0 ? last : undelivered - 1);
  return waited;
}

void await_and_deliver() {
  await_deferred(true);
  Deferral last;
  {
    Lock lock;  // one that another thread has begun has its marks then
    last = deferrals.latest();
  }
  deferrals.await_all(last, agent);
  agent.release(last);
}

namespace {

// Failed work never reaches its mark, and whoever waits for one may hold locks of the driver's: a thread of its own asks.
void* watch(void*) {
  agent.pass_hooks(+1);
  for (;;) {
    timespec nap{0, 100'000'000};
    agent.system_call(SYS_nanosleep, reinterpret_cast<long>(&nap), 0, 0, 0, 0, 0);
    deferrals.look_for_failures();
  }
}

bool start_watchman() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool made = pthread_create(&thread, nullptr, watch, nullptr) == 0 && pthread_detach(thread) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return made;
}

}  // namespace

// Under the lock at each look: another thread destroys no stream meanwhile.
static bool comes_to_rest(int64_t patience_ns) {
  const int64_t begun = now();
  for (;;) {
    {
      Lock lock;
      if (marks.is_idle()) return true;
    }
    if (now() - begun > patience_ns) return false;
    timespec nap{0, 100'000};
    agent.system_call(SYS_nanosleep, reinterpret_cast<long>(&nap), 0, 0, 0, 0, 0);
  }
}

int64_t give_back(bool others, int64_t patience_ns, int own_captures) {
  const int64_t waited = await_deferred(others), begun = now();
  // A release waits for the whole context: where its work waits for the CPU, what this thread does next lets it go.
  // So long somebody has waited in vain since it was at rest last. It may go on like this: nobody waits as long again.
  static std::atomic<int64_t> in_vain_ns{0};
  const bool at_rest = comes_to_rest(patience_ns > in_vain_ns ? patience_ns : 0);
  if (at_rest)
    in_vain_ns = 0;
  else if (patience_ns > in_vain_ns)
    in_vain_ns = patience_ns;
  const int64_t rested = now();
  const auto may_free = [own_captures] { return captures <= own_captures; };  // it would end the capture
  if (at_rest) pool.free_all<Lock>(may_free);
  if (at_rest) transfers.free_all<Lock>(may_free, own_captures == 0);
  return waited + rested - begun;
}

void stop_deferring() {
  if (state == State::on) state = State::ending;
  if (state == State::idle) state = State::off;
}

void end() {
  {
    Lock lock;
    stop_deferring();
  }
  if (state != State::ending) return;
  await_and_deliver();
  deferrals.end();
  state = State::off;
}

// The thread may have no context any more.
static void at_exit() {
  if (!Lock::held_here()) end();  // else: what was deferred is awaited by who comes for it
  if (has_begun) counts.note_end(now());
}

// Under the lock, once the driver was initialized: its own handlers of exit() were registered before, so ours runs first.
static bool see_the_end() { return sees_the_end || (sees_the_end = atexit(at_exit) == 0); }

bool begin() {
  if (state == State::idle)
    state = marks.allocate() && start_watchman() && see_the_end() ? State::on : State::off;
  return state == State::on;
}

void note_first_call(const CorrectedCall& call) {
  if (has_begun.load(std::memory_order_relaxed) || !counts.lists(call.site, call.function)) return;
  Lock lock;
  if (has_begun.exchange(true)) return;
  counts.note_begin(now());
  see_the_end();
}

// What waits for the GPU at the end was awaited by exit(); _exit() waits for nothing.
void finish() {
  state = State::off;
  if (has_begun) counts.note_end(now());
}

void forget() {
  state = State::off;
  has_begun = false;  // the file is the parent's
  Lock::reset();
}

}  // namespace diogenes::corrector
