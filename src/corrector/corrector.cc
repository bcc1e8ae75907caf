// libdiogenes-corrector.so: defers the waits and the copies that a plan names, in the program itself. It is preloaded in
// the runs of `diogenes prove` alone.
//
// What a deferred wait gave the program stays true by four means:
//   the CPU reads results, or writes what the GPU reads   guards, whose touch awaits the mark (trace/corrector.h)
//   later GPU work in other streams                       is ordered behind the marks
//   calls that tell of completion, or release memory      await all that was deferred
//   the end of the process                                awaits it, too
// Memory whose release would have waited is kept for the next allocation of its size.
// Copies are given to the GPU without waiting, and the wait that was in them is deferred (transfers.h).
// What cannot be kept so is not deferred: the call waits as before, and is counted.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#include <utility>

#include "corrector/clock.h"
#include "corrector/deferrals.h"
#include "corrector/pool.h"
#include "corrector/recorded_events.h"
#include "corrector/transfers.h"

namespace diogenes::corrector {

namespace {

enum class State { idle, on, off };

CorrectorServices agent{};
Marks marks;
Counts counts;
Deliveries deliveries;
Deferrals deferrals(marks, counts, deliveries);
Pool pool;
RecordedEvents events;
Transfers transfers(deferrals, deliveries, counts);
std::atomic<State> state{State::idle};
// Streams whose waits were deferred without a mark, one bit each: no host memory depended on them. A mark costs the GPU
// more than a short kernel.
uint64_t unmarked = 0;
static_assert(kStreams <= 64);
bool unknown_work = false;  // work was given to streams that are not known
// Of the calling thread: the work that was given before its call.
__attribute__((tls_model("initial-exec"))) thread_local uint64_t given_before = 0;
bool events_are_known = true;  // graphs record some out of sight
int captures = 0;              // streams under capture
std::atomic<bool> driver_is_known{false};
std::atomic<bool> has_begun{false};  // this process came to a site of the plan
bool sees_the_end = false;           // at_exit() is registered

// Held in hooks, for as long as the driver's own short calls take; never in a signal's handler.
class Lock {
 public:
  Lock() {
    while (held.exchange(true, std::memory_order_acquire))
      agent.system_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
  }
  ~Lock() { held.store(false, std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  static inline std::atomic<bool> held{false};
};

bool put_marks(Deferral deferral, uint64_t streams);

// All that the GPU was given before deferred waits is done when it returns; what it brought may still have to be delivered,
// behind guards that stay. The lock is not held while anybody waits: the GPU's work may wait for another thread, which makes
// calls of its own meanwhile. `others`: there are threads that do, or streams that may be given work: waits that have no mark
// get one then, and what is given now comes behind it.
void settle(bool others) {
  if (state != State::on) return;
  uint64_t streams = 0;
  Deferral last;
  agent.pass_hooks(+1);  // at the end of the process, no hook is under way
  {
    Lock lock;
    const bool marked =
        others && unmarked != 0 && !deferrals.full() && put_marks(deferrals.begin(-1), unmarked);
    if (!marked) streams = unmarked;
    unmarked = 0;
    last = deferrals.latest();
  }
  for (int i = 0; i < kStreams; ++i)
    if (streams >> i & 1) marks.synchronize(i);
  agent.pass_hooks(-1);
  deferrals.await_gpu(last, agent);
  const Deferral undelivered = deliveries.next(last);
  agent.release(undelivered == 0 ? last : undelivered - 1);
}

// ... and all is delivered.
void settle_and_deliver(bool others) {
  settle(others);
  const Deferral last = deferrals.latest();
  deferrals.await_all(last, agent);
  agent.release(last);
}

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

void give_back(bool others) {
  settle(others);
  pool.free_all<Lock>();
  transfers.free_all<Lock>();
}

void end() {
  if (state == State::on) {
    settle_and_deliver(false);
    deferrals.end();
  }
  state = State::off;
}

// The thread may have no context any more.
void at_exit() {
  end();
  if (has_begun) counts.note_end(now());
}

// Under the lock, once the driver was initialized: its own handlers of exit() were registered before, so ours runs first.
bool see_the_end() { return sees_the_end || (sees_the_end = atexit(at_exit) == 0); }

// At the first site, under the lock.
bool begin() {
  if (state == State::idle)
    state = marks.allocate() && start_watchman() && see_the_end() ? State::on : State::off;
  return state == State::on;
}

// What comes before the first site of the plan is the same in each run, and may scatter by more than there is to gain.
void note_first_call(const CorrectedCall& call) {
  if (has_begun.load(std::memory_order_relaxed) || !counts.lists(call.site, call.function)) return;
  Lock lock;
  if (has_begun.exchange(true)) return;
  counts.note_begin(now());
  see_the_end();
}

bool is_capture(const CorrectedCall& call) { return call.driver->role == Role::capture || call.capturing; }

// Does the call give the GPU work in a stream, or name a place in one?
bool has_place(const CorrectedCall& call) {
  const Role role = call.driver->role;
  return gives_work(*call.driver) || role == Role::stream_wait || role == Role::event_record;
}

// Neither tells of completion nor takes away what the GPU may be using.
bool is_no_matter(const DriverFunction& driver) {
  if (driver.has(Trait::destroys) || driver.has(Trait::unloads)) return false;
  switch (driver.role) {
    case Role::initialize:
    case Role::module:
    case Role::graph:
    case Role::profiler:
      return true;
    case Role::context:
      return !driver.has(Trait::ends_context);
    case Role::stream:
      return driver.arguments == Arguments::stream_create;
    case Role::event:
      return driver.arguments == Arguments::event_create;
    default:
      return false;
  }
}

// The places in streams until which the call waits. False: they are not known.
bool targets_of(const CorrectedCall& call, int (&streams)[kMostMarks], int& count) {
  count = 0;
  if (unknown_work) return false;
  if (call.driver->stream_of == StreamOf::context) {
    const bool named = call.driver->arguments == Arguments::context && call.registers[0] != 0;
    count = marks.working(named ? call.registers[0] : marks.current_context(), streams);
    return count >= 0;
  }
  if (!call.names_stream) return false;
  const int stream = marks.stream_of(call);
  if (stream < 0) return false;
  streams[count++] = stream;
  return true;
}

uint64_t bits(const int* streams, int count) {
  uint64_t result = 0;
  for (int i = 0; i < count; ++i) result |= uint64_t{1} << streams[i];
  return result;
}

// A mark in each of these. False: too many, or the driver refused; `deferral` is cancelled then.
bool put_marks(Deferral deferral, uint64_t streams) {
  for (int i = 0; i < kStreams; ++i) {
    Mark mark;
    if (!(streams >> i & 1)) continue;
    if (!marks.put(i, mark) || !deferrals.add(deferral, mark)) {
      deferrals.cancel(deferral);
      return false;
    }
  }
  return true;
}

// What a stream (-1: a new one) is given now must come behind waits for others that have no mark yet. False: await them.
bool mark_others(int stream) {
  const uint64_t others = stream < 0 ? unmarked : unmarked & ~bits(&stream, 1);
  if (others == 0) return true;
  if (deferrals.full() || !put_marks(deferrals.begin(-1), others)) return false;
  unmarked &= ~others;
  return true;
}

bool needs_no_mark(const CorrectedCall& call, const int* streams, int count) {
  if (call.driver->role != Role::synchronize || agent.has_unguarded()) return false;
  for (int i = 0; i < count; ++i)
    if (!marks.may_synchronize(streams[i])) return false;
  return true;
}

Undeferred defer(const CorrectedCall& call, int site) {
  if (captures > 0 || call.capturing) return Undeferred::capturing;
  int streams[kMostMarks], count = 0;
  const Mark* recorded = nullptr;
  if (call.driver->arguments == Arguments::event) {
    recorded = events.find(call.registers[0]);
    if (!events_are_known || !recorded || recorded->stream < 0) return Undeferred::unknown_work;
  } else if (!targets_of(call, streams, count)) {
    return Undeferred::unknown_work;
  }
  const uint64_t targets = bits(streams, count);
  if (!recorded && needs_no_mark(call, streams, count)) {
    unmarked |= targets;
    return Undeferred::none;
  }
  if (deferrals.full()) return Undeferred::unknown_work;
  const Deferral deferral = deferrals.begin(site);
  if (recorded) deferrals.add(deferral, *recorded);
  if (!put_marks(deferral, targets | unmarked)) return Undeferred::no_mark;
  // When the call returns, the program knows of all that it waited for before, too.
  if (!deferrals.add_pending(deferral)) {
    deferrals.cancel(deferral);
    return Undeferred::unknown_work;
  }
  // Where it fails, guards may stand for this deferral already: it stays, and is awaited.
  const Undeferred why = agent.guard(deferral, call);
  if (why == Undeferred::none) unmarked = 0;
  return why;
}

// What is to be done before the call.
enum class Step {
  pass,
  settle,     // await all that was deferred
  give_back,  // ... and free what the pool keeps
  end,        // ... and correct nothing more
  not_made,   // the call succeeds without the driver
  refused,    // ... fails: the memory was released before
};

Step not_deferred(int site, Undeferred why) {
  if (site >= 0) counts.add_undeferred(site, why);
  return Step::settle;
}

Step before_synchronize(const CorrectedCall& call) {
  const int site = counts.find(call.site, call.function);
  if (site < 0) return Step::settle;
  counts.add_call(site);
  if (captures > 0) return not_deferred(site, Undeferred::capturing);
  const Undeferred why = begin() ? defer(call, site) : Undeferred::no_mark;
  if (why != Undeferred::none) return not_deferred(site, why);
  counts.add_deferred(site);
  return Step::not_made;
}

Step before_release(const CorrectedCall& call) {
  const uint64_t address = call.registers[0];
  if (pool.keeps(address)) return Step::refused;
  // Named itself, or by the allocation that it is a release of.
  int site = counts.find(call.site, call.function);
  if (site >= 0)
    counts.add_call(site);
  else if (!pool.is_wanted(address))
    return Step::settle;
  if (captures > 0) return not_deferred(site, Undeferred::capturing);
  Undeferred why = begin() ? pool.refuses(address, marks.current_context()) : Undeferred::no_mark;
  if (why == Undeferred::none) why = defer(call, site);
  if (why != Undeferred::none) return not_deferred(site, why);
  pool.keep(address, marks.current_context());
  if (site >= 0) counts.add_deferred(site);
  return Step::not_made;
}

bool keeps_memory() { return !pool.empty() || transfers.keeps_memory(); }

Step before_allocation(const CorrectedCall& call) {
  const int site = allocates_device_memory(*call.driver) ? counts.find(call.site, call.function) : -1;
  if (site >= 0) counts.add_call(site);
  if (!keeps_memory()) return Step::pass;
  const uint64_t bytes = call.registers[1], context = marks.current_context();
  static uint64_t last_context = 0;
  if (!allocates_device_memory(*call.driver) || context != last_context) pool.forget_what_is_free();
  last_context = context;
  if (allocates_device_memory(*call.driver)) {
    const uint64_t address = pool.take(bytes, context);
    if (address != 0 && agent.copy(reinterpret_cast<void*>(call.registers[0]), &address, sizeof address)) {
      if (site >= 0) counts.add_deferred(site);
      return Step::not_made;
    }
    if (address != 0) pool.keep(address, context);
  }
  return pool.stands_in_the_way_of(bytes) ? Step::give_back : Step::pass;
}

// A wait without a mark gets it before its own stream is given more, where others may come to wait for it: it must not
// wait for what came later. In a program of one stream that is given plain work, nobody does.
bool mark_own(const CorrectedCall& call, int stream) {
  const uint64_t own = unmarked & bits(&stream, 1);
  const Role role = call.driver->role;
  const bool plain = role == Role::launch || role == Role::transfer || role == Role::fill;
  if (own == 0 || (plain && !call.threads && !marks.several())) return true;
  if (deferrals.full() || !put_marks(deferrals.begin(-1), own)) return false;
  unmarked &= ~own;
  return true;
}

Step step_before(const CorrectedCall& call) {
  const DriverFunction& driver = *call.driver;
  if (driver.role == Role::synchronize) return before_synchronize(call);
  if (releases_device_memory(driver)) return before_release(call);
  if (driver.has(Trait::begins_capture)) ++captures;
  if (driver.has(Trait::ends_context)) return Step::end;
  if (driver.role == Role::allocate && driver.stream_argument < 0) return before_allocation(call);
  if (driver.role == Role::allocate && before_allocation(call) == Step::give_back) return Step::give_back;
  if (driver.role == Role::mapping) return keeps_memory() ? Step::give_back : Step::settle;
  // What comes in another stream must not come behind what this one is given meanwhile.
  if (driver.arguments == Arguments::stream_create && !mark_others(-1)) return Step::settle;
  if (is_no_matter(driver)) return Step::pass;
  if (!has_place(call) || is_capture(call)) return Step::settle;
  const int stream = call.names_stream ? marks.stream_of(call) : -1;
  if (stream < 0) {
    unknown_work = true;
    return Step::settle;
  }
  return mark_own(call, stream) && mark_others(stream) && deferrals.order_behind_all(stream) ? Step::pass
                                                                                             : Step::settle;
}

// Was the copy given to the GPU?
enum class Given { no, without_mark, yes };

Undeferred give(const CorrectedCall& call, const CopyUnderWay& copy, int site, Given& given) {
  Lock lock;
  if (state != State::on) return Undeferred::no_mark;
  const int stream = marks.stream_of(call);
  if (stream < 0 || deferrals.full() || deliveries.full() || !mark_own(call, stream) ||
      !mark_others(stream) || !deferrals.order_behind_all(stream))
    return Undeferred::unknown_work;
  if (!transfers.give(copy, marks.handle_of(stream))) return Undeferred::no_mark;
  given = Given::without_mark;
  marks.note_work(stream);
  agent.end_transfer(call, true);
  const Deferral deferral = deferrals.begin(site);
  if (!put_marks(deferral, bits(&stream, 1) | unmarked)) return Undeferred::no_mark;
  given = Given::yes;
  transfers.follow(copy, deferral);
  if (!deferrals.add_pending(deferral)) return Undeferred::unknown_work;
  const Undeferred why = agent.guard(deferral, call);
  if (why == Undeferred::none) unmarked = 0;
  return why;
}

// The copy cannot be deferred after all: it is awaited here, as in the driver's function.
void await_copy(const CorrectedCall& call, const CopyUnderWay& copy, Given given) {
  if (given == Given::without_mark) {
    int stream;
    {
      Lock lock;
      stream = marks.stream_of(call);
    }
    marks.synchronize(stream);
    Lock lock;
    transfers.follow(copy, deferrals.latest());
  }
  settle_and_deliver(true);
}

// False: the driver is to make it.
bool correct_transfer(const CorrectedCall& call, int site) {
  counts.add_call(site);
  CopyUnderWay copy;
  copy.how = agent.sites[site].how;
  copy.context = marks.current_context();
  Given given = Given::no;
  Undeferred why = Undeferred::none;
  {
    Lock lock;
    if (captures > 0 || call.capturing)
      why = Undeferred::capturing;
    else if (!begin())
      why = Undeferred::no_mark;
  }
  if (why == Undeferred::none) {
    why = agent.begin_transfer(call, &copy.what);
    if (why == Undeferred::none) why = transfers.prepare<Lock>(copy, call.threads);
    if (why == Undeferred::none) why = give(call, copy, site, given);
    if (given == Given::no) {
      agent.end_transfer(call, false);
      Transfers::give_up(copy);
    }
  }
  if (why == Undeferred::none)
    counts.add_deferred(site);
  else
    counts.add_undeferred(site, why);
  if (why == Undeferred::none && agent.sites[site].how != 0 && (copy.block || copy.how == 0))
    counts.add_other_content(site);
  if (given != Given::no && why != Undeferred::none) await_copy(call, copy, given);
  return given != Given::no;
}

bool started() {
  if (driver_is_known.load(std::memory_order_acquire)) return state != State::off;
  Lock lock;
  if (!driver_is_known) {
    counts.start(agent);
    if (!marks.start(agent) || !pool.start(agent) || !transfers.start(agent)) state = State::off;
    driver_is_known = true;
  }
  return state != State::off;
}

bool correct(const CorrectedCall& call, int32_t* result) {
  const int copied_at = call.driver->role == Role::transfer ? counts.find(call.site, call.function) : -1;
  *result = CUDA_SUCCESS;
  if (copied_at >= 0 && correct_transfer(call, copied_at)) return true;
  Step step;
  bool others;
  {
    Lock lock;
    if (state == State::off) return false;
    step = step_before(call);
    given_before = marks.given();
    others = call.threads || marks.several();
  }
  if (step == Step::give_back && captures > 0) step = Step::settle;  // a release would end the capture
  if (step == Step::settle) settle(others);
  if (step == Step::give_back || step == Step::end) give_back(others);
  if (step == Step::end) end();
  *result = step == Step::refused ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  return step == Step::not_made || step == Step::refused;
}

bool before(const CorrectedCall& call, int32_t* result) {
  if (state == State::off || !started()) return false;
  if (call.site == 0) return correct(call, result);
  note_first_call(call);
  const int64_t begun = now();
  const bool corrected = correct(call, result);
  if (corrected) counts.add_correcting(now() - begun);
  return corrected;
}

void note_event(const CorrectedCall& call, int stream) {
  if (!counts.names_events()) return;
  if (Mark* mark = events.find_or_make(call.registers[0]))
    if (captures > 0 || call.driver->has(Trait::record_flags) || !begin() || !marks.put(stream, *mark))
      *mark = {};
}

void after(const CorrectedCall& call, bool succeeded) {
  if (state == State::off || !driver_is_known) return;
  const DriverFunction& driver = *call.driver;
  Lock lock;
  if (driver.has(Trait::ends_capture) && captures > 0) --captures;
  if (!succeeded) return;
  if (driver.arguments == Arguments::stream_destroy) marks.forget_stream(call.registers[0]);
  if (driver.has(Trait::hides_records)) events_are_known = false;
  // What another thread gave the GPU meanwhile was not waited for.
  if (driver.role == Role::synchronize && driver.stream_of == StreamOf::context) {
    marks.note_done(given_before);
    if (!call.threads) unknown_work = false;
  }
  if (driver.role == Role::event && driver.arguments == Arguments::event)
    if (Mark* mark = events.find(call.registers[0])) *mark = {};
  if (driver.role == Role::release) pool.note_release(call.registers[0]);
  if (uint64_t address = 0;
      allocates_device_memory(driver) &&
      agent.copy(&address, reinterpret_cast<const void*>(call.registers[0]), sizeof address))
    pool.note_allocation(address, call.registers[1], counts.find(call.site, call.function) >= 0,
                         marks.current_context());
  if (!has_place(call) || is_capture(call) || !call.names_stream) return;
  const int stream = marks.stream_of(call);
  if (stream < 0) return;
  if (driver.role == Role::event_record) return note_event(call, stream);
  marks.note_work(stream);
}

bool start(const CorrectorServices& services) {
  agent = services;
  return agent.plan->corrected_count > 0;
}

// What waits for the GPU at the end was awaited by exit(); _exit() waits for nothing.
void finish() {
  state = State::off;
  if (has_begun) counts.note_end(now());
}

void forget() {
  state = State::off;
  has_begun = false;  // the file is the parent's
  Lock::held.store(false, std::memory_order_relaxed);
}

}  // namespace

// The agent looks for it by name (trace/corrector.h).
extern "C" __attribute__((visibility("default"))) const Corrector diogenes_corrector = {
    sizeof(Corrector),
    start,
    before,
    after,
    [](Deferral deferral) { return deferrals.done(deferral); },
    [](Deferral deferral) { deferrals.await(deferral, true, agent); },
    finish,
    forget,
};

}  // namespace diogenes::corrector
