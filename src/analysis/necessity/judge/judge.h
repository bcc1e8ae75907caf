// Which synchronizations of a process were needed: a race check on its own trace.
//
// In: the process's events, one by one (events.h). Out: a verdict for each synchronization: why it was needed, and when its data
// was used first; or that it was not needed, and what that rests on. The rules are in docs/necessity.md; this is how they are
// applied.
//
// The question. Two accesses conflict if they overlap, at least one writes, and at least one is GPU work. In the recorded run
// each such pair came in some order. A synchronization is needless if every pair that was ordered stays ordered without it. So
// the judge looks at each pair when its second access comes, and asks what put the first one before it. If the GPU or the
// program did (a stream, an event wait, one thread's own calls), nobody can take that away, and the pair asks for nothing.
// Otherwise synchronizations did it, and one of them has to stay.
//
// The parts. Each event goes to these, in one pass, in the order of time:
//   OrderStates   what each thread, stream, CUDA event and lock stands after: vector clocks
//   Frontier      the accesses that a later one can still conflict with
//   CoverLog      which synchronization covers which work: here the candidates for a pair are found
//   GatedPairs    work that was pending when the CPU let other work go on that it conflicts with
//   Constraints   what the pairs ask for: 'this one', or 'one of these'. At the end it chooses
//
// An example. A stream counts its work: s0:1 is the first piece of stream 0. A clock says how far somebody knows each stream.
//
//   event                          who knows what                       what the judge notes
//   A gives s0 a copy to h         s0 stands at 1                       s0:1 writes h
//   A returns from S1, of s0       A knows s0:1                         S1 covers s0 up to 1
//   A returns from S2, of s0       nothing new                          S2 covers s0 up to 1
//   A reads h                      A knows s0:1, and not from the GPU   the pair (s0:1, read) asks for one of S1 and S2
//   A gives s0 a kernel, reads h   s0:2 is behind s0:1 by its stream    nothing: no synchronization orders that pair
//   the process ends                                                    S2 is chosen, as the later one; S1 is not needed
//
// 'A knows' comes in three strengths (vector_clock.h), and a pair asks by the strongest that covers it:
//   solid      by what no correction takes away             nothing
//   certain    also by synchronizations, in every run       one of those that the user knows of
//   possible   also by what happened so in this run, such   the first of each thread that may have covered the work, and none
//              as a lock that one thread took first         of these may be moved
//   none       they raced, or their order was not seen      the same
//
// Where it is careful. Whatever is not known counts as a use, at any time:
// - Memory that could not be watched, or was touched once and stands open, may be touched by each thread that is awake. So the
//   access asks once for each such thread, also for one that wakes up later (`expose`).
// - Work of which the operands are not known accesses all memory. Another process is ordered with nothing.
// - A synchronization whose waiting is not documented replaces no other one: a later one may be the one that counts.
// - Who is let go by another thread may learn of the data sooner in another run, by a flag. So of another thread only those
//   candidates count behind which it has let nobody go on (`epoch`).
// - Work that waits for the CPU may be let go by anything the CPU does later; so may all that is behind it. What the wait in
//   between ordered is kept (kLetsGo). A kernel that may poll the GPU's own memory is found late; then all is judged once more.
// - A process that was killed would have gone on to use what lay there (`unresolved`).
// - That other work did not need a wait may rest on a kernel's arguments being all that it reaches: then the verdict says so.
// - What would take too long to be judged is not (`gives_up`), and counts as needed.
// - Of a window (windows/window_events.h), what came before it and comes behind it is not known. A wait that may have waited
//   for more than is known is needed, and its thread knows things of which nobody else has heard. Possible order may be certain
//   in truth. Whatever is there at the end may be used later, by whoever learns from what is known then (unknown_behind.cc).
// - What a damaged trace leaves open is judged as if anything could have happened there, and counted (judgement.h).
// Each pair is judged alone, but all findings have to hold together. That is checked behind the judge by other code, which does
// not know how it chooses (check.h): it runs all events without the needless synchronizations, and what breaks is needed.
//
// It keeps what a later event can ask for, and forgets the rest now and then (`collect`), so that a run of ten million calls
// takes memory by what is pending.
#pragma once
#include <vector>

#include "analysis/necessity/events.h"
#include "analysis/necessity/judge/constraints.h"
#include "analysis/necessity/judge/cover_log.h"
#include "analysis/necessity/judge/frontier.h"
#include "analysis/necessity/judge/gated_pairs.h"
#include "analysis/necessity/judge/polling.h"
#include "analysis/necessity/order/order_states.h"
#include "analysis/necessity/tables/unnamed_memory.h"

namespace diogenes::necessity {

// Some ten seconds of a processor. What gives the GPU a hundred thousand pieces of work in twenty streams, each of which may
// reach any memory, takes more.
inline constexpr uint64_t kMostLooks = 400'000'000;

class Judge : public EventSink {
 public:
  // After every so many accesses and synchronizations it forgets what no later event can ask for. 0: after
  // each event, for tests.
  // `most_looks`: behind that many it looks at no more events, and nothing that it says counts.
  explicit Judge(size_t forgets_after = 1024, uint64_t most_looks = kMostLooks)
      : forgets_after_(forgets_after), most_looks_(most_looks), most_entries_(forgets_after) {}
  void take(const Event& event) override;
  // After the last event, once: what the killed process would have done. Then choose(), once: of several that would do, one
  // stays. `sites`: those of which one is required in some process; gets this one's, too. Then verdicts can be asked for, by
  // the number of their `covers` event.
  void end();
  void choose(std::vector<bool>& sites);
  void finish() {
    std::vector<bool> none;
    end();
    choose(none);
  }
  const std::vector<bool>& required_sites() const { return constraints_.required_sites(); }
  bool gives_up() const { return looks_ > most_looks_; }
  uint64_t looks() const { return looks_; }
  size_t size() const { return constraints_.size(); }
  size_t remembered() const { return entries_; }  // accesses and log entries that are kept now
  Verdict verdict(size_t number) const {
    return constraints_.verdict(InstanceIndex{static_cast<uint32_t>(number)});
  }
  std::vector<bool> needed() const;
  const Works& polling() const { return polling_; }
  // Then there was host memory that no work names: a kernel may reach it all the same.
  void note_unnamed(std::vector<UnnamedMemory::Span> spans);
  // The check (check.h) found that these have to stay, too: they become kUnresolved.
  void keep(const std::vector<bool>& needed);

 private:
  // A synchronization of a call that still runs.
  struct Running {
    InstanceIndex instance;
    Clock possible;
  };
  // A synchronization behind which other streams' work was free to start: that this did not need it may rest
  // on what is known of kernels' memory.
  struct Freed {
    InstanceIndex instance;
    StreamNumber stream;
    uint32_t tick;
    bool by_argument;
  };
  struct OfThread {
    int64_t released_ns = -1;  // when it last handed anything on
    bool unanswered = false;   // nobody has let it go on since
    uint32_t epoch = 0;        // counts synchronizations between which that was so
    std::vector<Running> running;
    Frontier::Watcher unwatched;  // by this thread still to be looked at
    std::vector<Freed> freed;     // the latest synchronizations, by whose returning other streams could start
  };

  void work(const Event& event);
  void covers(const Event& event);
  void call_end(const Event& event);
  void uses_mark(const Event& event);
  void releases(const Event& event);
  int64_t use_time(const Event& event);
  void touch(const Event& event);
  void unwatch(const Event& event);
  void unwatched(const Event& event);
  void peer(const Event& event);
  void note_freed(const Event& event, InstanceIndex instance, const Knowledge& covered);
  void add_conditions(const Event& work, const Point& point);
  bool covers_kernels(ThreadNumber thread, const Clock& possible);
  void lets_go(ThreadNumber thread, const Clock& possible);
  void unresolved();
  void unknown_behind();  // the same of a window, behind which the program went on

  struct Kept {
    Sureness sureness = Sureness::none;
    bool fixed = false;      // whatever is chosen later
    bool documented = true;  // by a wait that may be relied on
  };
  Kept keep_order(StreamNumber stream, uint32_t tick, const Knowledge& user, const Use& use);
  bool examine(LiveAccess& live, ClockKey by, const Knowledge& user, Use use);
  static bool is_behind_replacement(const LiveAccess& live, const Knowledge& user);
  // True: no later event can change what is held of it against this thread.
  bool may_touch(LiveAccess& live, ThreadNumber thread);
  void expose(LiveAccess& live);  // everybody awake may touch it
  void may_touch_exposed(ThreadNumber thread);
  OfThread& of(ThreadNumber thread) {
    if (thread.value >= threads_.size()) threads_.resize(thread.value + 1);
    return threads_[thread.value];
  }
  AccessIndex add(const Access& access, StreamNumber stream, uint32_t tick, uint32_t blind);
  bool is_settled(const LiveAccess& live) const;
  void prune(Frontier::List& list);
  void collect();  // forgets what no later event can ask for

  OrderStates views_;
  Frontier frontier_;
  Constraints constraints_;
  CoverLog log_;
  std::vector<OfThread> threads_;
  GatedPairs gated_pairs_;
  Works polling_;
  std::unordered_map<StreamNumber, uint32_t> last_by_argument_;  // work of which we know by arguments alone
  std::unordered_map<StreamNumber, uint32_t> last_kernel_;
  std::vector<std::pair<int64_t, InstanceIndex>> after_kernels_;  // which nobody had waited for, by time
  bool orderly_ = false;
  bool windowed_ = false;
  size_t forgets_after_;
  const uint64_t most_looks_;
  uint64_t looks_ = 0;                 // at pairs of accesses, in work()
  size_t entries_ = 0, most_entries_;  // of the logs, the frontier and the pairs
};

}  // namespace diogenes::necessity
