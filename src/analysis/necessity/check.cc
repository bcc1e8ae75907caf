#include "analysis/necessity/check.h"

#include "analysis/necessity/frontier.h"
#include "analysis/necessity/views.h"

namespace diogenes::necessity {
namespace {

constexpr size_t kUsualAccesses = 64;    // of a memory, before those that later work replaced are forgotten
constexpr size_t kMostAccesses = 4'096;  // ... before any is
constexpr size_t kMostBroken = 10'000;   // pairs that are looked at in one round

// A piece of work that is not before something that it was before.
struct Broken {
  StreamNumber stream;
  uint32_t tick;
  size_t use;  // event
};

class BothOrders : public EventSink {
 public:
  explicit BothOrders(const std::vector<bool>& needed) : needed_(needed) {}
  void take(const Event& event) override;
  void finish();
  const std::vector<Broken>& broken() const { return broken_; }
  size_t unchecked() const { return unchecked_; }

 private:
  struct Running {
    Clock possible;
  };
  struct Gated {
    StreamNumber stream;
    uint32_t tick;
    SharedKnowledge all, kept;
    std::vector<Access> accesses;
  };
  // Whatever of the two orders is meant, the same call on both.
  template <typename Call>
  void both(Call call) {
    call(all_);
    call(kept_);
  }
  void compare(const LiveAccess& live, const Knowledge& all, const Knowledge& kept);
  void used_by(const LiveAccess& live, ThreadNumber thread) {
    compare(live, *all_.thread(thread).known, *kept_.thread(thread).known);
  }
  void expose(LiveAccess& live);
  void work(const Event& event);
  void covers(const Event& event);
  void call_end(const Event& event);
  void touch(const Event& event, bool by_thread);
  void let_go(const Gated& gated);
  void add(const Access& access, const Event& event, uint32_t tick, uint32_t blind);
  bool on_host(const LiveAccess& live) const { return live.effect || live.access.on_host; }

  const std::vector<bool>& needed_;
  Views all_, kept_;  // with all synchronizations; with those that are needed
  Frontier frontier_;
  std::vector<std::vector<Running>> running_;  // by thread
  std::vector<Gated> gated_;
  std::vector<Broken> broken_;
  size_t instance_ = 0, event_ = 0, unchecked_ = 0;
  bool orderly_ = false;
};

void BothOrders::compare(const LiveAccess& live, const Knowledge& all, const Knowledge& kept) {
  const bool less_sure =
      all.certain.covers(live.stream, live.tick) && !kept.certain.covers(live.stream, live.tick);
  const bool lost =
      all.possible.covers(live.stream, live.tick) && !kept.possible.covers(live.stream, live.tick);
  if ((less_sure || lost) && broken_.size() < kMostBroken)
    broken_.push_back({live.stream, live.tick, event_});
}

void BothOrders::expose(LiveAccess& live) {
  frontier_.expose(live);
  for (uint32_t i = 0; i < all_.threads().size(); ++i) {
    if (all_.threads()[i].awake()) used_by(live, ThreadNumber{i});
  }
}

void BothOrders::take(const Event& event) {
  if (!well_formed(event)) return;
  ++event_;
  both([](Views& views) { views.next_event(); });
  bool appeared = false;
  if (event.thread.valid()) {
    const ThreadState& thread = all_.thread(event.thread);
    // Inside a call a thread runs the driver, which touches nothing of the program unseen.
    appeared = !thread.awake() || (event.kind == EventKind::acquire && thread.call == 0);
    both([&](Views& views) {
      views.thread(event.thread).seen = true;
      views.thread(event.thread).asleep = false;
    });
    if (event.thread.value >= running_.size()) running_.resize(event.thread.value + 1);
  }
  switch (event.kind) {
    case EventKind::call_begin:
      both([&](Views& views) { views.begin_call(event); });
      break;
    case EventKind::work:
      work(event);
      break;
    case EventKind::record_mark:
      both([&](Views& views) { views.record_mark(event); });
      break;
    case EventKind::wait_mark:
      both([&](Views& views) { views.wait_mark(event); });
      break;
    case EventKind::allocates:
      break;
    case EventKind::mark_ends:
      both([&](Views& views) { views.mark_ends(event); });
      break;
    case EventKind::stream_ends:
      both([&](Views& views) { views.stream_ends(event); });
      break;
    case EventKind::covers:
      covers(event);
      break;
    case EventKind::query:
      both([&](Views& views) { views.query(event); });
      kept_.done(all_.thread(event.thread).known->certain);
      break;
    case EventKind::uses_mark: {
      LiveAccess mark;
      mark.stream = all_.mark(event.mark).point.stream;
      mark.tick = all_.mark(event.mark).point.tick;
      if (mark.stream.valid() && mark.tick > 0) used_by(mark, event.thread);
      break;
    }
    case EventKind::releases:
      if (!event.deferrable) {
        frontier_.each_overlapping(event.memory, event.range, [&](AccessIndex index) {
          LiveAccess& live = frontier_[index];
          if (!event.lives_on && live.is_dead_download()) return;
          live.used = true;
          used_by(live, event.thread);
        });
      }
      if (event.memory.valid() && !event.lives_on) frontier_.release(event.memory, event.range);
      break;
    case EventKind::call_end:
      call_end(event);
      break;
    case EventKind::watch:
      frontier_.watch(event.watch, event.memory, event.range, event.read_only);
      break;
    case EventKind::touch:
      touch(event, event.thread.valid());
      break;
    case EventKind::unwatch:
      if (event.lost) {
        touch(event, false);
      } else {
        frontier_.unwatch(event.watch);
      }
      break;
    case EventKind::unwatched:
      frontier_.each_overlapping(event.memory, event.range, [&](AccessIndex index) {
        LiveAccess& live = frontier_[index];
        if (live.access.on_host && live.unwatched) expose(live);
      });
      break;
    case EventKind::release:
      both([&](Views& views) { views.release(event); });
      break;
    case EventKind::acquire:
      both([&](Views& views) { views.acquire(event); });
      break;
    case EventKind::sleep:
      both([&](Views& views) { views.thread(event.thread).asleep = true; });
      appeared = false;
      break;
    case EventKind::thread_ends:
      both([&](Views& views) { views.thread(event.thread).ended = true; });
      appeared = false;
      break;
    case EventKind::ends:
      orderly_ = true;
      break;
  }
  if (!appeared || frontier_.exposed() == 0) return;
  frontier_.each_unwatched([&](AccessIndex index) {
    if (frontier_[index].exposed) used_by(frontier_[index], event.thread);
  });
}

void BothOrders::work(const Event& event) {
  const Point all = all_.give_work(event), kept = kept_.give_work(event);
  for (const Access& access : event.accesses) {
    frontier_.each_overlapping(access.memory, access.range, [&](AccessIndex index) {
      LiveAccess& live = frontier_[index];
      if (!access.writes) live.used = true;
      if (live.stream != event.stream) {
        if (live.access.writes || access.writes) compare(live, *all.known, *kept.known);
      } else if ((access.writes || !live.access.writes) && access.memory == live.access.memory &&
                 access.range.contains(live.access.range)) {
        live.replaced = all.tick;
      }
    });
  }
  if (all_.waits_for_cpu(event.stream)) {
    gated_.push_back(
        {event.stream, all.tick, all.known, kept.known, {event.accesses.begin(), event.accesses.end()}});
  }
  for (const Access& access : event.accesses) add(access, event, all.tick, 0);
  if (event.blind != 0) add({}, event, all.tick, event.blind);
}

void BothOrders::add(const Access& access, const Event& event, uint32_t tick, uint32_t blind) {
  const AccessIndex added = frontier_.add(access, event.stream, tick, blind);
  Frontier::List& list = frontier_.list_of(frontier_[added]);
  list.most = std::max(list.most, kUsualAccesses);
  if (list.accesses.size() <= list.most) return;
  std::vector<AccessIndex> gone;
  for (AccessIndex index : list.accesses) {
    LiveAccess& live = frontier_[index];
    if (live.effect && live.stream == event.stream && live.tick < tick) live.replaced = tick;
    if (live.replaced != 0 && live.stream == event.stream && live.replaced < tick) gone.push_back(index);
  }
  if (list.accesses.size() - gone.size() > kMostAccesses) {
    gone.assign(list.accesses.begin(), list.accesses.begin() + kMostAccesses / 2);
    unchecked_ += gone.size();
  }
  for (AccessIndex index : gone) frontier_.remove(index);
  list.most = list.accesses.size() + kUsualAccesses;
}

void BothOrders::covers(const Event& event) {
  const Knowledge all = all_.covered(event), kept = kept_.covered(event);
  std::erase_if(gated_, [&](const Gated& gated) {
    if (!all.certain.covers(gated.stream, gated.tick)) return false;
    let_go(gated);
    return true;
  });
  const size_t instance = instance_++;
  all_.returns(event.thread, all, event.wait.own_work);
  if (instance >= needed_.size() || needed_[instance]) {
    kept_.returns(event.thread, kept, event.wait.own_work);
  }
  kept_.done(all_.thread(event.thread).known->certain);
  running_[event.thread.value].push_back({all.possible});
  if (all_.thread(event.thread).call == 0) call_end(event);
}

// Any thread may have let it go: then what that thread knew came before it.
void BothOrders::let_go(const Gated& gated) {
  Knowledge all, kept;
  for (const ThreadState& thread : all_.threads()) all.possible.join(thread.known->possible);
  for (const ThreadState& thread : kept_.threads()) kept.possible.join(thread.known->possible);
  kept.possible.join(gated.kept->possible);
  for (const Access& access : gated.accesses) {
    frontier_.each_overlapping(access.memory, access.range, [&](AccessIndex index) {
      const LiveAccess& live = frontier_[index];
      if (live.stream == gated.stream || !(live.access.writes || access.writes)) return;
      if (!gated.all->certain.covers(live.stream, live.tick)) compare(live, all, kept);
    });
  }
}

void BothOrders::call_end(const Event& event) {
  for (const Running& running : running_[event.thread.value]) {
    frontier_.each_unwatched([&](AccessIndex index) {
      LiveAccess& live = frontier_[index];
      if (!running.possible.covers(live.stream, live.tick)) return;
      if (!live.exposed) expose(live);
      used_by(live, event.thread);
    });
  }
  running_[event.thread.value].clear();
  both([&](Views& views) { views.end_call(event.thread); });
}

void BothOrders::touch(const Event& event, bool by_thread) {
  const Frontier::Watch watch = frontier_.unwatch(event.watch);
  if (!watch.memory.valid()) return;
  frontier_.each_overlapping(watch.memory, watch.range, [&](AccessIndex index) {
    LiveAccess& live = frontier_[index];
    if (!live.access.on_host) return;
    live.used = true;
    if (by_thread && (live.access.writes || event.writes)) used_by(live, event.thread);
    if (live.unwatched) expose(live);
  });
}

void BothOrders::finish() {
  for (const Gated& gated : gated_) let_go(gated);
  if (orderly_) return;
  frontier_.each([&](AccessIndex index) {
    if (!on_host(frontier_[index])) return;
    for (uint32_t i = 0; i < all_.threads().size(); ++i) used_by(frontier_[index], ThreadNumber{i});
  });
}

// Which findings the broken pairs take back: all that covered the work before it was used.
class Withdrawals : public EventSink {
 public:
  Withdrawals(const std::vector<Broken>& broken, std::vector<bool>& needed)
      : broken_(broken), needed_(needed) {}
  void take(const Event& event) override;
  size_t withdrawn() const { return withdrawn_; }

 private:
  const std::vector<Broken>& broken_;
  std::vector<bool>& needed_;
  Views views_;
  size_t instance_ = 0, event_ = 0, withdrawn_ = 0;
};

void Withdrawals::take(const Event& event) {
  if (!well_formed(event)) return;
  ++event_;
  views_.next_event();
  switch (event.kind) {
    case EventKind::call_begin:
      views_.begin_call(event);
      break;
    case EventKind::work:
      views_.give_work(event);
      break;
    case EventKind::record_mark:
      views_.record_mark(event);
      break;
    case EventKind::wait_mark:
      views_.wait_mark(event);
      break;
    case EventKind::mark_ends:
      views_.mark_ends(event);
      break;
    case EventKind::stream_ends:
      views_.stream_ends(event);
      break;
    case EventKind::query:
      views_.query(event);
      break;
    case EventKind::release:
      views_.release(event);
      break;
    case EventKind::acquire:
      views_.acquire(event);
      break;
    case EventKind::call_end:
      views_.end_call(event.thread);
      break;
    case EventKind::covers: {
      const Knowledge covered = views_.covered(event);
      views_.returns(event.thread, covered, event.wait.own_work);
      const size_t instance = instance_++;
      if (instance >= needed_.size() || needed_[instance]) break;
      for (const Broken& pair : broken_) {
        if (pair.use < event_ || !covered.possible.covers(pair.stream, pair.tick)) continue;
        needed_[instance] = true;
        ++withdrawn_;
        break;
      }
      break;
    }
    default:
      break;
  }
}

}  // namespace

CheckResult withdraw_unsound(const Replay& replay, std::vector<bool>& needed) {
  CheckResult result;
  for (;;) {
    BothOrders orders(needed);
    replay(orders);
    orders.finish();
    result.unchecked = orders.unchecked();
    if (orders.broken().empty()) return result;
    Withdrawals withdrawals(orders.broken(), needed);
    replay(withdrawals);
    if (withdrawals.withdrawn() == 0) return result;
    result.withdrawn += withdrawals.withdrawn();
  }
}

}  // namespace diogenes::necessity
