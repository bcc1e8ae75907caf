#include "analysis/necessity/judge/judge.h"

namespace diogenes::necessity {
namespace {

constexpr uint64_t kGatedPair = 64;  // looks: it is kept, too

constexpr size_t kMostFreed = 16;

bool conflict(const Access& one, const Access& other) { return one.writes || other.writes; }

// A kernel that may write what it reads has two accesses; its order is no reading of results.
bool only_reads(const Event& work, const Access& access) {
  return !access.writes && std::none_of(work.accesses.begin(), work.accesses.end(), [&](const Access& other) {
    return other.writes &&
           (!other.memory.valid() || (other.memory == access.memory && other.range.overlaps(access.range)));
  });
}

uint32_t reason_of(Toucher by, const Access& touched) {
  switch (by) {
    case Toucher::driver:
      return kDriverAccess;
    case Toucher::system_call:
      return kSystemCall;
    case Toucher::unseen:
      return kExposed;
    case Toucher::program:
    case Toucher::host_function:
      break;
  }
  return touched.writes ? kCpuAccess : kSourceReuse;
}

}  // namespace

// Sees to it that work stays before somebody's use of it, as surely as it was.
Judge::Kept Judge::keep_order(StreamNumber stream, uint32_t tick, const Knowledge& user, const Use& use) {
  if (user.solid.covers(stream, tick)) return {Sureness::certain, true};
  Use by_others = use;
  by_others.reason |= kOtherThread;  // no such synchronization may be moved
  if (user.certain.covers(stream, tick)) {
    std::vector<InstanceIndex> candidates;
    // Who is seen to use it may learn of it sooner in another run, by a flag that it looks at before it blocks.
    const bool seen = (use.reason & kUnwatchedReasons) == 0;
    log_.candidates(stream, tick, user.solid, seen ? use.thread : ThreadNumber{}, candidates);
    if (!candidates.empty()) {
      Use known = use;
      known.handed_on = true;
      if (use.thread.valid()) known.released_ns = of(use.thread).released_ns;
      const bool fixed = constraints_.require_one_of(candidates, known);
      // A wait that nobody may rely on replaces no other: a later one may be the one that counts.
      const bool documented =
          std::any_of(candidates.begin(), candidates.end(),
                      [this](InstanceIndex candidate) { return constraints_.documented(candidate); });
      return {Sureness::certain, fixed, documented};
    }
    // Ordered by several in a row: with the first in each thread kept, each of them still follows the work.
    log_.each_firsts(stream, tick, [&](const CoverLog::Firsts& first) {
      if (first.certain.valid()) constraints_.require(first.certain, by_others);
    });
    return {Sureness::certain, true};
  }
  log_.each_firsts(stream, tick, [&](const CoverLog::Firsts& first) {
    if (!first.possible.valid()) return;
    constraints_.require(first.possible, by_others);
    if (windowed_ && first.certain.valid()) constraints_.require(first.certain, by_others);
    if (first.documented.valid() && !constraints_.documented(first.possible))
      constraints_.require(first.documented, by_others);
  });
  return {user.possible.covers(stream, tick) ? Sureness::possible : Sureness::none, false};
}

// True: the work stays certainly before the use, whatever is chosen later.
bool Judge::examine(LiveAccess& live, ClockKey by, const Knowledge& user, Use use) {
  use.at_edge |= live.past;
  const Sureness held = live.held_by(by);
  if (held == Sureness::certain) return false;
  if (held == Sureness::possible && !windowed_ && !user.certain.covers(live.stream, live.tick)) return false;
  const Kept kept = keep_order(live.stream, live.tick, user, use);
  if (kept.sureness != Sureness::none) live.hold(by, kept.sureness);
  return kept.fixed;
}

// Who comes after what replaced it comes after it; where both are examined, that pair alone is enough.
bool Judge::is_behind_replacement(const LiveAccess& live, const Knowledge& user) {
  return live.replaced != 0 && user.certain.covers(live.replaced_in, live.replaced);
}

bool Judge::may_touch(LiveAccess& live, ThreadNumber thread) {
  const ClockKey key = key_of(thread);
  const Knowledge& known = *views_.thread(thread).known;
  const Sureness held = live.held_by(key);
  if (held == Sureness::certain) return true;
  if (held == Sureness::possible && !windowed_ && !known.certain.covers(live.stream, live.tick)) return false;
  Use use{live.blind != 0 ? live.blind : uint32_t{kExposed}, thread};
  use.at_edge = live.past;
  const Kept kept = keep_order(live.stream, live.tick, known, use);
  // When it touches is not known: a later wait may be the one that counts, where this one may not be relied
  // on.
  if (kept.sureness == Sureness::none || !kept.documented) return false;
  live.hold(key, kept.sureness);
  return kept.sureness == Sureness::certain;
}

void Judge::expose(LiveAccess& live) {
  frontier_.expose(live);
  for (const ThreadNumber thread : views_.living()) {
    if (views_.thread(thread).can_touch()) may_touch(live, thread);
  }
}

void Judge::may_touch_exposed(ThreadNumber thread) {
  if (frontier_.exposed() == 0) return;
  frontier_.each_unwatched(of(thread).unwatched, [&](AccessIndex index) {
    return frontier_[index].exposed && may_touch(frontier_[index], thread);
  });
}

void Judge::take(const Event& event) {
  if (!well_formed(event) || gives_up()) return;
  views_.next_event();
  bool appeared = false;  // it could not touch anything before this event, and can now
  // A guard that goes up at an acquire is up before the thread goes on.
  const bool by_agent = event.kind == EventKind::watch || event.kind == EventKind::unwatch;
  if (event.thread.valid() && !by_agent && !event.past) {
    ThreadState& thread = views_.thread(event.thread);
    appeared = !thread.can_touch();
    views_.see(event.thread);
    thread.asleep = false;
    of(event.thread);
  }
  appeared |= views_.follow(event);
  switch (event.kind) {
    case EventKind::work:
      work(event);
      break;
    case EventKind::stream_ends:
      last_by_argument_.erase(event.stream);
      last_kernel_.erase(event.stream);
      break;
    case EventKind::covers:
      covers(event);
      break;
    case EventKind::uses_mark:
      uses_mark(event);
      break;
    case EventKind::releases:
      releases(event);
      break;
    case EventKind::call_end:
      call_end(event);
      break;
    case EventKind::watch:
      frontier_.watch(event.watch, event.memory, event.range, event.read_only);
      break;
    case EventKind::touch:
      touch(event);
      break;
    case EventKind::unwatch:
      unwatch(event);
      break;
    case EventKind::unwatched:
      unwatched(event);
      break;
    case EventKind::release:
      of(event.thread).released_ns = event.at_ns;
      of(event.thread).unanswered = true;
      break;
    case EventKind::acquire:
      if (event.forced) of(event.thread).unanswered = false;
      break;
    case EventKind::sleep:
      views_.thread(event.thread).asleep = true;
      appeared = false;
      break;
    case EventKind::thread_ends:
      views_.end_thread(event.thread);
      appeared = false;
      break;
    case EventKind::peer:
      peer(event);
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
  if (appeared && views_.thread(event.thread).call == 0) may_touch_exposed(event.thread);
  if (entries_ >= most_entries_) collect();
}

void Judge::work(const Event& event) {
  const Point point = views_.give_work(event);
  const ThreadState& giver = views_.thread(event.thread);
  const bool gated = views_.waits_for_cpu(event.stream);
  std::vector<std::pair<const Access*, GatedPairs::Work>> let_go;  // perhaps behind that access
  for (const Access& access : event.accesses) {
    frontier_.each_overlapping(access.memory, access.range, [&](AccessIndex index) {
      LiveAccess& live = frontier_[index];
      ++looks_;
      if (!access.writes) live.used = true;
      auto replace = [&] {
        if (!does_all_of(access, live.access)) return;
        if (live.stream == event.stream && live.replaced_there == 0) live.replaced_there = point.tick;
        if (live.replaced != 0) return;
        live.replaced_in = event.stream;
        live.replaced = point.tick;
      };
      if (live.stream == event.stream) return replace();
      if (!conflict(access, live.access) || is_behind_replacement(live, *point.known)) return;
      if (live.gated && !gated_pairs_.is_done({live.stream, live.tick}))
        let_go.push_back({&access, {live.stream, live.tick}});
      if (!point.known->certain.covers(live.stream, live.tick)) {
        if (may_poll(live.access, access)) polling_.add(live.stream, live.tick);
        if (may_poll(access, live.access)) polling_.add(event.stream, point.tick);
        if (live.gate && access.writes)
          views_.may_let_go({live.stream, live.tick}, {event.stream, point.tick}, event.past);
        if (event.gate && live.access.writes)
          views_.may_let_go({event.stream, point.tick}, {live.stream, live.tick}, live.past);
      }
      Use use{kOrder, event.thread, giver.call_at_ns};
      use.at_edge = live.past || event.past;
      if (access.on_host && only_reads(event, access)) use.reason = kDeviceReuse;
      if (gated && !point.known->certain.covers(live.stream, live.tick)) {
        // Any thread may let it go: what held for work before it says nothing.
        use.reason |= kLetsGo;
        keep_order(live.stream, live.tick, *point.known, use);
        ++entries_;
        looks_ += kGatedPair;
        gated_pairs_.add({live.stream, live.tick}, index, {event.stream, point.tick});
      } else {
        if (examine(live, key_of(event.stream), *point.known, use)) replace();
      }
    });
  }
  add_conditions(event, point);
  for (const Access& access : event.accesses) {
    // What conflicts with a range that a kernel reads conflicts with its being written by the kernel, too.
    auto writes_it = [&access](const Access& other) {
      return other.writes && other.argument && other.memory == access.memory &&
             other.range.contains(access.range);
    };
    if (!access.writes && std::any_of(event.accesses.begin(), event.accesses.end(), writes_it)) continue;
    const AccessIndex added = add(access, event.stream, point.tick, 0);
    frontier_[added].gated = gated;
    frontier_[added].gate = event.gate;
    frontier_[added].past = frontier_[added].used = event.past;
    for (const auto& [behind, work] : let_go) {
      if (behind != &access) continue;
      ++entries_;
      gated_pairs_.add({event.stream, point.tick}, added, work);
    }
  }
  if (gated) gated_pairs_.add_gated(event.stream);
  if (event.blind != 0) add({}, event.stream, point.tick, event.blind);
}

void Judge::covers(const Event& event) {
  const Knowledge covered = views_.covered(event);
  const InstanceIndex instance = constraints_.add_instance(event);
  note_freed(event, instance, covered);
  if (event.printed) constraints_.add_condition(instance, kConditionPrints);
  if (covers_kernels(event.thread, covered.possible)) after_kernels_.emplace_back(event.at_ns, instance);
  const uint32_t position = views_.returns(event.thread, covered, event.wait.own_work);
  OfThread& thread = of(event.thread);
  if (std::exchange(thread.unanswered, false)) ++thread.epoch;
  entries_ +=
      log_.add(event.thread, instance, event.site, position, thread.epoch, event.wait.documented, covered);
  if (views_.unclear() || event.unclear) {
    Use use{kUnresolved, event.thread};
    use.at_edge = true;
    constraints_.require(instance, use);
    const StreamNumber unseen = views_.learns_unseen(event.thread);
    LiveAccess& past = frontier_[add({.writes = true, .on_host = true}, unseen, 1, 0)];
    past.past = past.used = true;
  }
  lets_go(event.thread, covered.possible);
  of(event.thread).running.push_back({instance, covered.possible});
  if (views_.thread(event.thread).call == 0) call_end(event);
}

void Judge::note_freed(const Event& event, InstanceIndex instance, const Knowledge& covered) {
  std::vector<Freed>& freed = of(event.thread).freed;
  const Clock& known = views_.thread(event.thread).known->certain;
  for (const Clock::Component& component : covered.solid.components()) {
    const uint32_t before = known[component.key];
    if (!is_stream(component.key) || before >= component.value) continue;
    const StreamNumber stream{number_of(component.key)};
    const auto by_argument = last_by_argument_.find(stream);
    if (freed.size() == kMostFreed) freed.erase(freed.begin());
    freed.push_back({instance, stream, component.value,
                     by_argument != last_by_argument_.end() && by_argument->second > before});
  }
}

// Some that the thread does not know to be done.
bool Judge::covers_kernels(ThreadNumber thread, const Clock& possible) {
  const Clock& known = views_.thread(thread).known->certain;
  const auto& components = possible.components();
  return std::any_of(components.begin(), components.end(), [&](const Clock::Component& component) {
    if (!is_stream(component.key) || known[component.key] >= component.value) return false;
    const auto last = last_kernel_.find(StreamNumber{number_of(component.key)});
    return last != last_kernel_.end() && last->second > known[component.key];
  });
}

void Judge::note_unnamed(std::vector<UnnamedMemory::Span> spans) {
  std::sort(spans.begin(), spans.end(), [](auto& one, auto& other) { return one.from_ns < other.from_ns; });
  auto next = after_kernels_.begin();
  for (const UnnamedMemory::Span& span : spans)
    for (; next != after_kernels_.end() && next->first <= span.to_ns; ++next)
      if (next->first >= span.from_ns) constraints_.add_condition(next->second, kConditionArguments);
}

void Judge::add_conditions(const Event& work, const Point& point) {
  const bool by_argument = std::any_of(work.accesses.begin(), work.accesses.end(),
                                       [](const Access& access) { return access.argument; });
  if (by_argument) last_by_argument_[work.stream] = point.tick;
  // A kernel that is given no memory may reach any.
  const bool kernel = by_argument || std::any_of(work.accesses.begin(), work.accesses.end(),
                                                 [](const Access& access) { return !access.memory.valid(); });
  if (kernel) last_kernel_[work.stream] = point.tick;
  std::erase_if(of(work.thread).freed, [&](const Freed& freed) {
    if (freed.stream == work.stream || !(by_argument || freed.by_argument)) return false;
    if (point.known->solid.covers(freed.stream, freed.tick)) return false;
    constraints_.add_condition(freed.instance, kConditionArguments);
    return true;
  });
}

// Work that was given earlier and waits for the CPU may go on because of what this thread does from now on.
void Judge::lets_go(ThreadNumber thread, const Clock& possible) {
  gated_pairs_.done(views_.thread(thread).known->certain);
  gated_pairs_.covered(thread, possible, [&](GatedPairs::Work work, AccessIndex index) {
    if (!frontier_[index].is_of(work.stream, work.tick)) return;
    // What it learned out of sight it knows without any wait.
    if (frontier_[index].past && views_.thread(thread).known->solid.covers(work.stream, work.tick)) return;
    const InstanceIndex first = log_.firsts(thread, work.stream, work.tick).possible;
    if (first.valid()) constraints_.require(first, {kLetsGo, thread});
  });
}

void Judge::call_end(const Event& event) {
  OfThread& thread = of(event.thread);
  for (const Running& running : thread.running) {
    constraints_.returned(running.instance, event.at_ns);
    // What is not watched by now is open to everybody.
    frontier_.each_unwatched(thread.unwatched, [&](AccessIndex index) {
      LiveAccess& live = frontier_[index];
      if (!running.possible.covers(live.stream, live.tick)) return false;
      if (!live.exposed) expose(live);
      return may_touch(live, event.thread);
    });
  }
  thread.running.clear();
  views_.end_call(event.thread);
}

// What a call uses, it may use as soon as it is entered.
int64_t Judge::use_time(const Event& event) {
  const ThreadState& thread = views_.thread(event.thread);
  return thread.call != 0 ? thread.call_at_ns : event.at_ns;
}

void Judge::uses_mark(const Event& event) {
  const auto [stream, tick] = views_.mark(event.mark).last();
  if (!stream.valid() || tick == 0) return;
  keep_order(stream, tick, *views_.thread(event.thread).known,
             {kDriverAccess, event.thread, use_time(event)});
}

void Judge::releases(const Event& event) {
  if (!event.deferrable) {
    const Knowledge& known = *views_.thread(event.thread).known;
    frontier_.each_overlapping(event.memory, event.range, [&](AccessIndex index) {
      LiveAccess& live = frontier_[index];
      if (event.lives_on && !live.access.writes && !event.writes) return;  // both only read
      const bool unread = live.is_dead_download();
      if (!event.lives_on && !event.in_reach && unread) return;
      live.used = true;
      const uint32_t reason = event.in_reach && unread                        ? kReleased
                              : event.lives_on && event.by == Toucher::driver ? kDeviceReuse
                              : event.by == Toucher::system_call              ? kSystemCall
                              : live.access.writes                            ? kCpuAccess
                                                                              : kSourceReuse;
      // Whoever allocates next is no place that a wait could move to.
      const int64_t at_ns = event.in_reach ? -1 : use_time(event);
      examine(live, key_of(event.thread), known, {reason, event.thread, at_ns, event.stack});
    });
  }
  if (event.memory.valid() && !event.lives_on) frontier_.release(event.memory, event.range);
}

void Judge::touch(const Event& event) {
  const Frontier::Watch watch = frontier_.unwatch(event.watch);
  if (!watch.memory.valid()) return;
  frontier_.each_overlapping(watch.memory, watch.range, [&](AccessIndex index) {
    LiveAccess& live = frontier_[index];
    if (!live.access.on_host) return;
    live.used = true;
    const Knowledge& known = *views_.thread(event.thread.valid() ? event.thread : ThreadNumber{0}).known;
    if (event.thread.valid() && (live.access.writes || event.writes) && !is_behind_replacement(live, known)) {
      const Use use{reason_of(event.by, live.access), event.thread, event.at_ns - event.held_ns, event.stack,
                    event.address};
      examine(live, key_of(event.thread), known, use);
    }
    if (live.unwatched) expose(live);
  });
}

void Judge::unwatch(const Event& event) {
  const Frontier::Watch watch = frontier_.unwatch(event.watch);
  if (!watch.memory.valid() || !event.lost) return;
  frontier_.each_overlapping(watch.memory, watch.range, [&](AccessIndex index) {
    LiveAccess& live = frontier_[index];
    if (live.access.on_host) live.used = true;
    if (live.unwatched) expose(live);
  });
}

void Judge::unwatched(const Event& event) {
  frontier_.each_overlapping(event.memory, event.range, [&](AccessIndex index) {
    LiveAccess& live = frontier_[index];
    if (!live.access.on_host) return;
    live.blind |= event.blind;
    if (live.unwatched) expose(live);
  });
}

// Nobody here knows what lets another process go on.
void Judge::peer(const Event& event) {
  frontier_.each_overlapping(event.memory, event.range, [&](AccessIndex index) {
    LiveAccess& live = frontier_[index];
    if (!live.access.on_host) return;
    live.used = true;
    if (live.access.writes || event.writes) keep_order(live.stream, live.tick, {}, {kSharedMemory, {}});
  });
}

// The process was killed: what it would have touched is not known.
void Judge::unresolved() {
  frontier_.each([&](AccessIndex index) {
    LiveAccess& live = frontier_[index];
    if (!live.access.on_host) return;
    for (const ThreadNumber thread : views_.living()) {
      const Knowledge& known = *views_.thread(thread).known;
      if (live.held_by(key_of(thread)) == Sureness::certain || known.solid.covers(live.stream, live.tick))
        continue;
      const Use use{kUnresolved, thread};
      std::vector<InstanceIndex> candidates;
      log_.candidates(live.stream, live.tick, known.solid, {}, candidates);
      for (InstanceIndex candidate : candidates) constraints_.require(candidate, use);
      if (candidates.empty()) keep_order(live.stream, live.tick, known, use);
    }
  });
}

void Judge::end() {
  if (orderly_) return;
  windowed_ ? unknown_behind() : unresolved();
}

void Judge::choose(std::vector<bool>& sites) {
  constraints_.prefer(sites);
  constraints_.choose();
  sites = constraints_.required_sites();
}

std::vector<bool> Judge::needed() const {
  std::vector<bool> needed(size());
  for (size_t i = 0; i < size(); ++i) needed[i] = verdict(i).reasons != 0;
  return needed;
}

void Judge::keep(const std::vector<bool>& needed) {
  for (size_t i = 0; i < std::min(size(), needed.size()); ++i) {
    const InstanceIndex instance{static_cast<uint32_t>(i)};
    if (needed[i] && !constraints_.required(instance)) constraints_.withdraw(instance);
  }
}

}  // namespace diogenes::necessity
