// Defers the waits and the copies that a plan names, in the program itself, in the runs of `diogenes prove` alone.
//
// What a deferred wait gave the program stays true by four means:
//   the CPU reads results, or writes what the GPU reads   guards, whose touch awaits the mark (trace/corrector_services.h)
//   later GPU work in other streams                       is ordered behind the marks
//   calls that tell of completion, or release memory      await all that was deferred
//   the end of the process                                awaits it, too
// Memory whose release would have waited is kept for the next allocation of its size.
// Copies and fills are given to the GPU without waiting, and the wait that was in them is deferred (transfers.h).
// What cannot be kept so is not deferred: the call waits as before, and is counted.
#include <string.h>

#include "corrector/lifetime.h"
#include "corrector/transfers/correct_transfer.h"
#include "corrector/waits/wait_clock.h"
#include "corrector/waits/waits.h"
#include "driver/launch_attributes.h"

namespace diogenes::corrector {

CorrectorServices agent{};
Marks marks;
Counts counts;
Deliveries deliveries;
Deferrals deferrals(marks, counts, deliveries);
OpenWaits open_waits(marks, deferrals);
Pool pool;
RecordedEvents events;
Transfers transfers(deferrals, deliveries, counts);
std::atomic<State> state{State::idle};
bool unknown_work = false;
bool events_are_known = true;
int captures = 0;
int being_given = 0;
std::atomic<uint64_t> unseen_calls{0};

namespace {

// Of the calling thread: the work that was given before its call; and it is in a call that gives a stream work.
__attribute__((tls_model("initial-exec"))) thread_local uint64_t given_before = 0;
__attribute__((tls_model("initial-exec"))) thread_local bool gives = false;
__attribute__((tls_model("initial-exec"))) thread_local uint64_t unseen_before = 0;  // unseen_calls
std::atomic<bool> driver_is_known{false};

int64_t clock_takes = 0;  // of what lies between two readings
constexpr uint32_t kWaitsForEachTimed = 16;
__attribute__((tls_model("initial-exec"))) thread_local uint32_t waits_begun = 0;

// In no step with a loop of the program's: of two waits in turn, each has its part.
bool is_timed_wait() {
  constexpr uint32_t kGolden = 0x9e3779b1;
  return ++waits_begun * kGolden < ~uint32_t{0} / kWaitsForEachTimed;
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

// What is to be done before the call.
enum class Step {
  pass,
  await_all,  // await all that was deferred
  give_back,  // ... and free what the pool keeps
  end,        // ... and correct nothing more
  not_made,   // the call succeeds without the driver
  refused,    // ... fails: the memory was released before
};

Step not_deferred(int site, Undeferred why) {
  if (site >= 0) counts.add_undeferred(site, why);
  return Step::await_all;
}

Step before_synchronize(const CorrectedCall& call) {
  const int site = counts.find(call.site, call.function);
  if (site < 0) return Step::await_all;
  counts.add_call(site);
  Undeferred why = refusal(call, site);
  if (why == Undeferred::none) why = defer(call, site);
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
    return Step::await_all;
  Undeferred why = refusal(call, site);
  if (why == Undeferred::none) why = pool.refuses(address, marks.current_context());
  if (why == Undeferred::none) why = defer(call, site);
  if (why != Undeferred::none) return not_deferred(site, why);
  pool.keep(address, marks.current_context());
  if (site >= 0) counts.add_deferred(site);
  return Step::not_made;
}

// Does it take of the device's memory, tell how much there is, or hand it to others?
bool is_about_free_memory(const DriverFunction& driver) {
  return driver.has(Trait::shares) || strcmp(driver.symbol, "cuMemGetInfo") == 0 ||
         strcmp(driver.symbol, "cuMemGetInfo_v2") == 0 || strcmp(driver.symbol, "cuMemCreate") == 0;
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

// Order in a stream does not hold for such a kernel, so the program must have waited where it needed to.
bool starts_early(const CorrectedCall& call) {
  return call.driver->arguments == Arguments::launch_ex &&
         launch_attributes(reinterpret_cast<const void*>(call.registers[0]), agent.copy).starts_early;
}

// A call that is made gives the stream work behind the waits that were deferred. What their marks take now is a cost of
// correcting those waits.
bool give_behind_deferred(const CorrectedCall& call, int stream) {
  const int64_t before = marks.in_driver_ns();
  const bool given = open_waits.mark_own(stream, gives_by(call)) && open_waits.mark_others(stream) &&
                     deferrals.order_behind_all(stream);
  counts.add_correcting(marks.in_driver_ns() - before);
  return given;
}

Step step_before(const CorrectedCall& call) {
  const DriverFunction& driver = *call.driver;
  if (driver.role == Role::synchronize) return before_synchronize(call);
  if (releases_device_memory(driver)) return before_release(call);
  // While a capture is under way, memory can be neither kept nor given back.
  if (driver.has(Trait::begins_capture) && captures++ == 0 && keeps_memory()) return Step::give_back;
  if (driver.has(Trait::ends_context)) {
    stop_deferring();
    return Step::end;
  }
  if (driver.role == Role::allocate && driver.stream_argument < 0) return before_allocation(call);
  if (driver.role == Role::allocate && before_allocation(call) == Step::give_back) return Step::give_back;
  if (driver.role == Role::mapping)
    return keeps_memory() && is_about_free_memory(driver) ? Step::give_back : Step::await_all;
  // What comes in another stream must not come behind what this one is given meanwhile.
  if (driver.arguments == Arguments::stream_create && !open_waits.mark_others(-1)) return Step::await_all;
  if (is_no_matter(driver)) return Step::pass;
  if (!has_place(call) || is_capture(call) || starts_early(call)) return Step::await_all;
  const int stream = call.names_stream ? marks.stream_of(call) : -1;
  if (stream < 0) {
    unknown_work = true;
    return Step::await_all;
  }
  gives = true, ++being_given;
  return give_behind_deferred(call, stream) ? Step::pass : Step::await_all;
}

bool started() {
  if (driver_is_known.load(std::memory_order_acquire)) return state != State::off;
  Lock lock;
  if (!driver_is_known) {
    counts.start(agent);
    if (!marks.start(agent) || !pool.start(agent) || !transfers.start(agent)) state = State::off;
    clock_takes = reading_time();
    driver_is_known = true;
  }
  return state != State::off;
}

// Under the lock.
void end_stream(uint64_t handle) {
  if (!((!marks.is_working(handle) || begin()) && marks.end_stream(handle))) unknown_work = true;
}

// Where the GPU does not come to rest: an allocation that fails is worse than one that comes late. In ns.
constexpr int64_t kForAllocations = 5'000'000'000, kElse = 200'000'000;

bool correct(const CorrectedCall& call, int32_t* result, int64_t* awaited) {
  const bool moves = call.driver->role == Role::transfer || call.driver->role == Role::fill;
  const int copied_at = moves ? counts.find(call.site, call.function) : -1;
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
  // A release would end the capture.
  const int own = call.driver->has(Trait::begins_capture) ? 1 : 0;
  if (step == Step::give_back && captures > own) step = Step::await_all;
  if (step == Step::await_all) *awaited = await_deferred(others);
  if (step == Step::give_back || step == Step::end)
    *awaited = give_back(others, call.driver->role == Role::allocate ? kForAllocations : kElse, own);
  if (step == Step::end) end();
  unseen_before = unseen_calls;
  // Before the call: another thread may be given the same handle as soon as the driver has let it go.
  if (call.driver->arguments == Arguments::stream_destroy) {
    Lock lock;
    end_stream(call.registers[0]);
  }
  *result = step == Step::refused ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  return step == Step::not_made || step == Step::refused;
}

bool before(const CorrectedCall& call, int32_t* result, int64_t* awaited) {
  if (state == State::off || !started()) return false;
  if (call.site == 0) return correct(call, result, awaited);
  note_first_call(call);
  // From where the program made it: what the hook did before is spared where nothing is corrected (Counts::add_passing). Reading
  // the clock takes as long as deferring a wait does: of waits, one in so many is timed, and counts for them all.
  const int64_t stands_for = call.driver->role == Role::synchronize ? kWaitsForEachTimed : 1;
  if (stands_for > 1 && !is_timed_wait()) return correct(call, result, awaited);
  const bool corrected = correct(call, result, awaited);
  if (corrected) counts.add_correcting((now() - call.entered_ns - clock_takes) * stands_for);
  return corrected;
}

void note_event(const CorrectedCall& call, int stream) {
  if (!counts.names_events()) return;
  if (Mark* mark = events.find_or_make(call.registers[0]))
    if (captures > 0 || call.driver->has(Trait::record_flags) || !begin() || !marks.put(stream, *mark))
      *mark = {};
}

// A call that was made, and behind which the program may know that earlier work is done.
bool tells_of_completion(const DriverFunction& driver) {
  return driver.role == Role::synchronize || driver.role == Role::query ||
         (driver.role == Role::transfer && driver.direction != Direction::host_to_device &&
          driver.direction != Direction::device_to_device);
}

void after(const CorrectedCall& call, bool succeeded) {
  if (state == State::off || !driver_is_known) return;
  const DriverFunction& driver = *call.driver;
  Lock lock;
  if (gives) gives = false, --being_given;
  if (captures > 0 && (driver.has(Trait::ends_capture) || (driver.has(Trait::begins_capture) && !succeeded)))
    --captures;
  if (driver.arguments == Arguments::stream_destroy && !succeeded) unknown_work = true;  // it may be there
  if (!succeeded) return;
  // What it was recorded behind before is no place of it any more, whether or not the new one can be told.
  if (driver.role == Role::event_record)
    if (Mark* mark = events.find(call.registers[0])) *mark = {};
  if (tells_of_completion(driver)) deferrals.note_wait(deferrals.latest(), kAllStreams, true);
  if (driver.has(Trait::hides_records)) events_are_known = false;
  // What another thread gave the GPU meanwhile was not waited for.
  if (driver.role == Role::synchronize && driver.stream_of == StreamOf::context) {
    marks.note_done(given_before);
    if (!call.threads && unseen_before == unseen_calls) unknown_work = false;
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

// What is kept may have been in the way though as much was free: it splits the memory, and calls of other kinds take some.
bool make_room(const CorrectedCall& call) {
  if (state == State::off || !driver_is_known) return false;
  bool others;
  {
    Lock lock;
    if (captures > 0 || !keeps_memory() || marks.current_context() == 0) return false;
    others = call.threads || marks.several();
  }
  give_back(others, kForAllocations, 0);
  Lock lock;
  return !keeps_memory();
}

bool before_unseen(const DriverFunction& driver, uint64_t first) {
  if (state == State::off || !driver_is_known || is_no_matter(driver) || Lock::held_here()) return false;
  await_before_unseen();
  Lock lock;
  if (driver.arguments == Arguments::stream_destroy) end_stream(first);
  if (driver.role == Role::event_record) events_are_known = false;
  const bool gives_it_work = gives_work(driver) || driver.role == Role::stream_wait;
  if (gives_it_work) unknown_work = true, ++unseen_calls;
  return gives_it_work;
}

int64_t await(Deferral deferral) {
  const Awaiting here(nullptr);
  return deferrals.await(deferral, true, agent);
}

void start(const CorrectorServices& services) {
  agent = services;
  if (agent.plan->corrected_count == 0) state = State::off;
}

}  // namespace

}  // namespace diogenes::corrector

namespace diogenes {

using namespace corrector;

const Corrector the_corrector = {
    start,
    before,
    after,
    make_room,
    [](Deferral deferral) { return deferrals.done(deferral); },
    await,
    [](Deferral deferral) { deferrals.note_use(deferral); },
    [](uint64_t site, uint16_t function, int64_t ns) {
      if (driver_is_known && counts.lists(site, function)) counts.add_passing(ns);
    },
    [](int64_t ns) {
      if (driver_is_known) counts.add_correcting(ns);
    },
    finish,
    forget,
    before_unseen,
};

}  // namespace diogenes
