#include "analysis/necessity/order/both_orders.h"

#include <tuple>

namespace diogenes::necessity {
namespace {

constexpr size_t kMostBroken = 10'000;  // pairs that are looked at in one round

}  // namespace

bool BothOrders::compare(const LiveAccess& live, const Knowledge& all, const Knowledge& kept) {
  // What is known here stays known, so the order with all synchronizations need not be asked.
  if (kept.certain.covers(live.stream, live.tick)) return true;
  const bool less_sure = all.certain.covers(live.stream, live.tick);
  const bool lost =
      all.possible.covers(live.stream, live.tick) && !kept.possible.covers(live.stream, live.tick);
  if (!less_sure && !lost) return false;
  if (broken_.size() < kMostBroken) broken_.push_back({live.stream, live.tick, event_});
  return true;
}

void BothOrders::expose(LiveAccess& live) {
  frontier_.expose(live);
  for (const ThreadNumber thread : all_.living()) {
    if (all_.thread(thread).can_touch()) used_by(live, thread);
  }
}

void BothOrders::take(const Event& event) {
  if (!well_formed(event)) return;
  ++event_;
  both([](OrderStates& views) { views.next_event(); });
  bool appeared = false;
  const bool by_agent = event.kind == EventKind::watch || event.kind == EventKind::unwatch;
  if (event.thread.valid() && !by_agent && !event.past) {
    const ThreadState& thread = all_.thread(event.thread);
    appeared = !thread.can_touch() || event.kind == EventKind::acquire;
    both([&](OrderStates& views) {
      views.see(event.thread);
      views.thread(event.thread).asleep = false;
    });
    if (event.thread.value >= threads_.size()) threads_.resize(event.thread.value + 1);
  }
  both([&](OrderStates& views) { views.follow(event); });
  switch (event.kind) {
    case EventKind::work:
      work(event);
      break;
    case EventKind::covers:
      covers(event);
      break;
    case EventKind::query:
      kept_.done(all_.thread(event.thread).known->certain);
      break;
    case EventKind::uses_mark: {
      LiveAccess mark;
      std::tie(mark.stream, mark.tick) = all_.mark(event.mark).last();
      if (mark.stream.valid() && mark.tick > 0) used_by(mark, event.thread);
      break;
    }
    case EventKind::releases:
      if (!event.deferrable) {
        frontier_.each_overlapping(event.memory, event.range, [&](AccessIndex index) {
          LiveAccess& live = frontier_[index];
          if (!event.lives_on && !event.in_reach && live.is_dead_download()) return;
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
    case EventKind::peer:  // before it there is no order that could be lost
      frontier_.each_overlapping(event.memory, event.range, [&](AccessIndex index) {
        if (frontier_[index].access.on_host) frontier_[index].used = true;
      });
      break;
    case EventKind::sleep:
      both([&](OrderStates& views) { views.thread(event.thread).asleep = true; });
      appeared = false;
      break;
    case EventKind::thread_ends:
      both([&](OrderStates& views) { views.end_thread(event.thread); });
      appeared = false;
      break;
    case EventKind::ends:
      orderly_ = true;
      break;
    case EventKind::window_begins:
      windowed_ = true;
      break;
    default:
      break;
  }
  if (appeared && all_.thread(event.thread).call == 0 && frontier_.exposed() > 0) {
    frontier_.each_unwatched(threads_[event.thread.value].unwatched, [&](AccessIndex index) {
      return frontier_[index].exposed && used_by(frontier_[index], event.thread);
    });
  }
  if (until_forgetting_ == 0) forget();
}

// A copy that goes to another stream stays in its own here, and is behind that other one alone: who gives it waits for it, and
// nobody else gives work (narrow_waits.cc), so all that is given later is behind it in either.
Point BothOrders::give_kept(const Event& event) {
  while (narrow_ && next_copy_ < narrow_->copies.size() && narrow_->copies[next_copy_].event < event_)
    ++next_copy_;
  const StreamNumber* to = nullptr;
  if (narrow_ && next_copy_ < narrow_->copies.size() && narrow_->copies[next_copy_].event == event_)
    to = &narrow_->streams[narrow_->copies[next_copy_].instance];
  if (!to || !to->valid()) return kept_.give_work(event);
  Event less = event;
  less.streams = {to, 1};
  return kept_.give_work(less);
}

void BothOrders::work(const Event& event) {
  const Point all = all_.give_work(event), kept = give_kept(event);
  for (const Access& access : event.accesses) {
    frontier_.each_overlapping(access.memory, access.range, [&](AccessIndex index) {
      LiveAccess& live = frontier_[index];
      if (!access.writes) live.used = true;
      if (live.stream != event.stream) {
        if (!live.access.writes && !access.writes) return;
        if (!all.known->certain.covers(live.stream, live.tick)) {
          if (live.gate && access.writes)
            lets_go({{live.stream, live.tick}, {event.stream, all.tick}, event.past, event_});
          if (event.gate && live.access.writes)
            lets_go({{event.stream, all.tick}, {live.stream, live.tick}, live.past, event_});
        }
        compare(live, *all.known, *kept.known);
      } else if (live.replaced == 0 && does_all_of(access, live.access)) {
        live.replaced_in = event.stream;
        live.replaced = all.tick;
      }
    });
  }
  if (all_.waits_for_cpu(event.stream)) {
    gated_.add(event.stream, all.tick,
               {all.known, kept.known, {event.accesses.begin(), event.accesses.end()}});
  }
  for (const Access& access : event.accesses) {
    // Not by a download, which may go with its copy.
    const bool written = std::any_of(event.accesses.begin(), event.accesses.end(), [&](const Access& other) {
      return other.writes && does_all_of(other, access) && (other.argument || !other.on_host);
    });
    if (access.writes || !written) add(access, event, all.tick, 0);
  }
  if (event.blind != 0) add({}, event, all.tick, event.blind);
}

void BothOrders::lets_go(const LettingGo& pair) {
  both([&](OrderStates& views) { views.may_let_go(pair.gate, pair.by, pair.by_past); });
  letting_go_.push_back(pair);
}

void BothOrders::add(const Access& access, const Event& event, uint32_t tick, uint32_t blind) {
  const AccessIndex added = frontier_.add(access, event.stream, tick, blind);
  frontier_[added].gate = event.gate && blind == 0;
  frontier_[added].used = event.past;
  frontier_[added].past = event.past;
  if (until_forgetting_ > 0) --until_forgetting_;
  Frontier::List& list = frontier_.list_of(frontier_[added]);
  if (blind != 0) {
    for (AccessIndex index : list.accesses) {
      LiveAccess& live = frontier_[index];
      if (live.stream == event.stream && live.tick < tick && live.replaced == 0) live.replaced = tick;
    }
  }
  if (list.accesses.size() > list.most) prune(list);
}

void BothOrders::covers(const Event& event) {
  const Knowledge all = all_.covered(event), kept = kept_.covered(event);
  gated_.done(all.certain,
              [this](StreamNumber stream, uint32_t, const Gated& gated) { let_go(stream, gated); });
  const size_t instance = instance_++;
  const bool stays = instance >= needed_.size() || needed_[instance];
  const bool unclear = all_.unclear() || event.unclear;
  all_.returns(event.thread, all, event.wait.own_work);
  if (unclear) {
    const StreamNumber unseen = all_.learns_unseen(event.thread);
    if (stays) kept_.learns_unseen(event.thread, unseen);
    Event past;
    past.stream = unseen;
    past.past = true;
    add({.writes = true, .on_host = true}, past, 1, 0);
  }
  if (stays) {
    kept_.returns(event.thread, kept, event.wait.own_work);
  } else if (narrow_ && narrow_->streams[instance].valid()) {
    Event less = event;
    less.stream = {};
    less.streams = {&narrow_->streams[instance], 1};
    less.may_streams = {};
    less.may_cover = MayCover::nothing;
    kept_.returns(event.thread, kept_.covered(less), event.wait.own_work);
  } else if (narrow_ && narrow_->orders[instance]) {
    kept_.orders(event.thread, kept);
  }
  kept_.done(all_.thread(event.thread).known->certain);
  threads_[event.thread.value].running.push_back({all.possible});
  if (until_forgetting_ > 0) --until_forgetting_;
  if (all_.thread(event.thread).call == 0) call_end(event);
}

// Any thread may have let it go: then what that thread knew came before it.
void BothOrders::let_go(StreamNumber stream, const Gated& gated) {
  Knowledge all, kept;
  all.possible = all_.known_to_ended();
  kept.possible = kept_.known_to_ended();
  for (const ThreadNumber thread : all_.living()) all.possible.join(all_.thread(thread).known->possible);
  for (const ThreadNumber thread : kept_.living()) kept.possible.join(kept_.thread(thread).known->possible);
  kept.possible.join(gated.kept->possible);
  for (const Access& access : gated.accesses) {
    frontier_.each_overlapping(access.memory, access.range, [&](AccessIndex index) {
      const LiveAccess& live = frontier_[index];
      if (live.stream == stream || !(live.access.writes || access.writes)) return;
      if (!gated.all->certain.covers(live.stream, live.tick)) compare(live, all, kept);
    });
  }
}

void BothOrders::call_end(const Event& event) {
  OfThread& thread = threads_[event.thread.value];
  for (const Running& running : thread.running) {
    frontier_.each_unwatched(thread.unwatched, [&](AccessIndex index) {
      LiveAccess& live = frontier_[index];
      if (!running.possible.covers(live.stream, live.tick)) return false;
      if (!live.exposed) expose(live);
      return used_by(live, event.thread);
    });
  }
  thread.running.clear();
  both([&](OrderStates& views) { views.end_call(event.thread); });
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

void BothOrders::unknown_behind() {
  std::vector<Knowledge> all, kept;
  const auto into = [](std::vector<Knowledge>& list) {
    return [&list](ThreadNumber, const Knowledge& known) { list.push_back(known); };
  };
  all_.each_source(into(all));
  kept_.each_source(into(kept));
  if (all.size() != kept.size()) ++unchecked_;  // a damaged trace
  for (size_t i = 0; i < std::min(all.size(), kept.size()); ++i)
    frontier_.each([&](AccessIndex index) { compare(frontier_[index], all[i], kept[i]); });
}

void BothOrders::finish() {
  gated_.each([this](StreamNumber stream, uint32_t, const Gated& gated) { let_go(stream, gated); });
  if (orderly_) return;
  if (windowed_) return unknown_behind();
  frontier_.each([&](AccessIndex index) {
    if (!on_host(frontier_[index])) return;
    for (const ThreadNumber thread : all_.living()) used_by(frontier_[index], thread);
  });
}

}  // namespace diogenes::necessity
