// The order of a process with all its synchronizations, and beside it the order with those alone that are
// needed. In: the process's events, and which synchronizations are needed. Out: the pairs that were ordered
// in the one and are not, or are less surely, in the other. Source: docs/necessity.md (the verdict).
#pragma once
#include <vector>

#include "analysis/necessity/events.h"
#include "analysis/necessity/judge/frontier.h"
#include "analysis/necessity/order/order_states.h"

namespace diogenes::necessity {

// A piece of work that is not before something that it was before.
struct Broken {
  StreamNumber stream;
  uint32_t tick;
  size_t use;  // event
};

// Work that may let go other work, as OrderStates::may_let_go() takes it, since an event.
struct LettingGo {
  OrderStates::Work gate, by;
  bool by_past;
  size_t since;
};

// A copy to the host that its own call waits for, by number of the event that gives it. It is given to the stream that `covers`
// event `instance` is to wait for.
struct NarrowCopy {
  size_t event = 0, instance = 0;
  OperationId like;  // gave that stream the work
};

// Synchronizations of which less would do.
struct Narrow {
  std::vector<StreamNumber>
      streams;                     // by `covers` event: it is to wait for this one alone; invalid: as it is
  std::vector<NarrowCopy> copies;  // by event
  std::vector<bool>
      orders;  // by `covers` event: only what its thread gives the GPU later waits, in its streams
};

class BothOrders : public EventSink {
 public:
  // `narrow`: of those that are not needed, what they cover all the same. Null: they cover nothing.
  BothOrders(const std::vector<bool>& needed, size_t forgets_after, const Narrow* narrow = nullptr)
      : needed_(needed), narrow_(narrow), forgets_after_(forgets_after), until_forgetting_(forgets_after) {}
  void take(const Event& event) override;
  void finish();  // after the last event
  const std::vector<Broken>& broken() const { return broken_; }
  const std::vector<LettingGo>& letting_go() const { return letting_go_; }
  size_t unchecked() const { return unchecked_; }

 private:
  struct Running {
    Clock possible;
  };
  struct Gated {
    SharedKnowledge all, kept;
    std::vector<Access> accesses;
  };
  struct OfThread {
    std::vector<Running> running;
    Frontier::Watcher unwatched;  // by this thread still to be looked at
  };
  // Whatever of the two orders is meant, the same call on both.
  template <typename Call>
  void both(Call call) {
    call(all_);
    call(kept_);
  }
  // True: a later use by the same one tells nothing new.
  bool compare(const LiveAccess& live, const Knowledge& all, const Knowledge& kept);
  bool used_by(const LiveAccess& live, ThreadNumber thread) {
    return compare(live, *all_.thread(thread).known, *kept_.thread(thread).known);
  }
  void expose(LiveAccess& live);
  void work(const Event& event);
  Point give_kept(const Event& event);
  void covers(const Event& event);
  void call_end(const Event& event);
  void touch(const Event& event, bool by_thread);
  void let_go(StreamNumber stream, const Gated& gated);
  void unknown_behind();  // of a window: all that is there may be used by whoever knows of it
  void add(const Access& access, const Event& event, uint32_t tick, uint32_t blind);
  bool is_settled(const LiveAccess& live) const;
  void prune(Frontier::List& list);
  void forget();  // what no later event can ask for
  bool on_host(const LiveAccess& live) const { return live.effect || live.access.on_host; }

  const std::vector<bool>& needed_;
  const Narrow* const narrow_;
  size_t next_copy_ = 0;    // of narrow_->copies
  OrderStates all_, kept_;  // with all synchronizations; with those that are needed
  Frontier frontier_;
  std::vector<OfThread> threads_;
  UntilDone<Gated> gated_;
  void lets_go(const LettingGo& pair);
  std::vector<LettingGo> letting_go_;
  std::vector<Broken> broken_;
  size_t instance_ = 0, event_ = 0, unchecked_ = 0;
  bool orderly_ = false, windowed_ = false;
  const size_t forgets_after_;
  size_t until_forgetting_;  // accesses and synchronizations
};

}  // namespace diogenes::necessity
