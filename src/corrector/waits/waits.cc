#include "corrector/waits/waits.h"

#include "corrector/lifetime.h"

namespace diogenes::corrector {

uint64_t bits(const int* streams, int count) {
  uint64_t result = 0;
  for (int i = 0; i < count; ++i) result |= uint64_t{1} << streams[i];
  return result;
}

namespace {

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

bool needs_no_mark(const CorrectedCall& call, const int* streams, int count) {
  // What another thread is giving now came past OpenWaits::mark_own() already, and is not behind this wait for certain.
  if (call.driver->role != Role::synchronize || being_given > 0 || agent.has_unguarded()) return false;
  for (int i = 0; i < count; ++i)
    if (!marks.may_synchronize(streams[i])) return false;
  return true;
}

}  // namespace

Gives gives_by(const CorrectedCall& call) {
  return call.driver->role == Role::transfer || call.driver->role == Role::fill ? Gives::what_ends
                                                                                : Gives::what_may_wait;
}

Undeferred refusal(const CorrectedCall& call, int site) {
  if (captures > 0 || call.capturing) return Undeferred::capturing;
  if (call.threads && agent.plan->leaves_threads) return Undeferred::threads;
  if (site >= 0 && counts.was_used(site)) return Undeferred::was_needed;
  return begin() ? Undeferred::none : Undeferred::no_mark;
}

Undeferred defer(const CorrectedCall& call, int site) {
  int streams[kMostMarks], count = 0;
  const Mark* recorded = nullptr;
  if (call.driver->arguments == Arguments::event) {
    recorded = events.find(call.registers[0]);
    if (!events_are_known || !recorded || recorded->stream < 0) return Undeferred::unknown_work;
  } else if (!targets_of(call, streams, count)) {
    return Undeferred::unknown_work;
  }
  const uint64_t targets = recorded ? uint64_t{1} << recorded->stream : bits(streams, count);
  // A mark that is put now would lie behind what came there since.
  const uint64_t covered = recorded && !marks.is_behind_place(*recorded) ? 0 : targets;
  if (!open_waits.places_only_in(covered)) return Undeferred::unknown_work;
  const bool is_needed = site < 0 || (agent.sites[site].how & kIsNeeded) != 0;
  if (!recorded && needs_no_mark(call, streams, count)) {
    open_waits.add(targets);
    if (is_needed) deferrals.note_wait(deferrals.latest(), targets, true);
    return Undeferred::none;
  }
  if (deferrals.full()) return Undeferred::unknown_work;
  const Deferral deferral = deferrals.begin(site);
  if (recorded) deferrals.add(deferral, *recorded);
  if (!deferrals.put_marks(deferral, recorded ? open_waits.without_place() : targets | open_waits.streams()))
    return Undeferred::no_mark;
  // When the call returns, the program knows of all that it waited for before, too.
  if (!deferrals.add_pending(deferral)) {
    deferrals.cancel(deferral);
    return Undeferred::unknown_work;
  }
  // Where it fails, guards may stand for this deferral already: it stays, and is awaited.
  const Undeferred why = agent.guard(deferral, call);
  if (why != Undeferred::none) return why;
  open_waits.close();
  deferrals.note_wait(deferral, targets, is_needed);
  return Undeferred::none;
}

}  // namespace diogenes::corrector
