// Which synchronizations of a process were needed: a race check on its own trace.
// In: the process's events, one by one (events.h). Out: a verdict for each synchronization. For each pair of
// conflicting accesses that was ordered, some of the synchronizations that ordered it are kept; what no pair
// needs is not needed. Source: docs/necessity.md.
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

class Judge : public EventSink {
 public:
  // After every so many accesses and synchronizations it forgets what no later event can ask for. 0: after
  // each event, for tests.
  explicit Judge(size_t forgets_after = 1024) : forgets_after_(forgets_after), most_entries_(forgets_after) {}
  void take(const Event& event) override;
  // After the last event, once: what was left open is decided. Then verdicts can be asked for, by the number
  // of their `covers` event.
  void finish();
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

  struct Kept {
    Sureness sureness = Sureness::none;
    bool fixed = false;      // whatever is chosen later
    bool documented = true;  // by a wait that may be relied on
  };
  Kept keep_order(StreamNumber stream, uint32_t tick, const Knowledge& user, const Use& use);
  bool examine(LiveAccess& live, ClockKey by, const Knowledge& user, const Use& use);
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
  size_t forgets_after_;
  size_t entries_ = 0, most_entries_;  // of the logs, the frontier and the pairs
};

}  // namespace diogenes::necessity
