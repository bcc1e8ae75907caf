#include "corrector/transfers/correct_transfer.h"

#include "corrector/lifetime.h"
#include "corrector/waits/waits.h"

namespace diogenes::corrector {

namespace {

// Was the copy given to the GPU?
enum class Given { no, without_mark, yes };

Undeferred give(const CorrectedCall& call, const CopyUnderWay& copy, int site, Given& given) {
  Lock lock;
  if (state != State::on) return Undeferred::no_mark;
  const int stream = marks.stream_of(call);
  if (stream < 0 || deferrals.full() || deliveries.full() || !open_waits.mark_own(stream, gives_by(call)) ||
      !open_waits.mark_others(stream) || !deferrals.order_behind_all(stream))
    return Undeferred::unknown_work;
  if (!transfers.give(copy, marks.handle_of(stream))) return Undeferred::no_mark;
  given = Given::without_mark;
  marks.note_work(stream);
  agent.end_transfer(call, true);
  const Deferral deferral = deferrals.begin(site);
  if (!deferrals.put_marks(deferral, bits(&stream, 1) | open_waits.streams())) return Undeferred::no_mark;
  given = Given::yes;
  transfers.follow(copy, deferral);
  if (!deferrals.add_pending(deferral)) return Undeferred::unknown_work;
  const Undeferred why = agent.guard(deferral, call);
  if (why != Undeferred::none) return why;
  open_waits.close();
  deferrals.note_wait(deferral, bits(&stream, 1), (agent.sites[site].how & kIsNeeded) != 0);
  return Undeferred::none;
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
  await_and_deliver();
}

}  // namespace

bool correct_transfer(const CorrectedCall& call, int site) {
  counts.add_call(site);
  CopyUnderWay copy;
  const bool fills = call.driver->role == Role::fill;
  copy.how = fills ? 0 : agent.sites[site].how & (kKnowsContents | kSetsOneValue);
  const bool content = copy.how != 0;
  copy.context = marks.current_context();
  Given given = Given::no;
  Undeferred why = Undeferred::none;
  {
    Lock lock;
    why = refusal(call, site);
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
  if (why == Undeferred::none && content && (copy.block || copy.how == 0)) counts.add_other_content(site);
  if (given != Given::no && why != Undeferred::none) await_copy(call, copy, given);
  return given != Given::no;
}

}  // namespace diogenes::corrector
