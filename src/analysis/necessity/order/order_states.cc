#include "analysis/necessity/order/order_states.h"

namespace diogenes::necessity {
namespace {

constexpr size_t kMostReleases = 64;  // of an object

}  // namespace

bool well_formed(const Event& event) {
  constexpr uint32_t kMost = Index<struct NecessityThreadTag>::kNone / 2;  // vector_clock.h needs a bit
  auto right = [](auto number) { return number.value < kMost; };
  auto all_right = [&](std::span<const StreamNumber> streams) {
    return std::all_of(streams.begin(), streams.end(), right);
  };
  if (!all_right(event.streams) || !all_right(event.may_streams)) return false;
  if (event.stream.valid() && !right(event.stream)) return false;
  if (event.thread.valid() && event.thread.value > 0xffff) return false;
  switch (event.kind) {
    case EventKind::work:
      return event.thread.valid() && event.stream.valid();
    case EventKind::record_mark:
    case EventKind::wait_mark:
      return event.thread.valid() && event.stream.valid() && event.mark.valid();
    case EventKind::uses_mark:
      return event.thread.valid() && event.mark.valid();
    case EventKind::release:
    case EventKind::acquire:
      return event.thread.valid() && event.object.valid();
    case EventKind::watch:
    case EventKind::unwatch:
    case EventKind::touch:
      return event.watch.valid();
    case EventKind::unwatched:
    case EventKind::peer:
    case EventKind::ends:
    case EventKind::window_begins:
      return true;
    case EventKind::knows:
      return event.thread.valid() && event.stream.valid();
    case EventKind::mark_ends:
      return event.mark.valid();
    case EventKind::stream_ends:
      return event.stream.valid();
    case EventKind::call_begin:
    case EventKind::covers:
    case EventKind::query:
    case EventKind::allocates:
    case EventKind::releases:
    case EventKind::call_end:
    case EventKind::sleep:
    case EventKind::thread_ends:
      return event.thread.valid();
  }
  return false;
}

uint64_t OrderStates::oldest() const {
  uint64_t begin = now_;
  for (const ThreadState& thread : threads_) {
    if (thread.call != 0) begin = std::min(begin, thread.call);
  }
  return begin;
}

void OrderStates::begin_call(const Event& event) {
  ThreadState& state = thread(event.thread);
  state.call = now_;
  state.call_at_ns = event.at_ns;
  state.own_work.clear();
}

void OrderStates::end_call(ThreadNumber number) {
  ThreadState& state = thread(number);
  state.call = 0;
  state.own_work.clear();
}

// A call comes before what it submits.
Point& OrderStates::submit(StreamNumber number, ThreadNumber thread_number) {
  const ThreadState& giver = thread(thread_number);
  StreamState& state = stream(number);
  Point& point = state.point.change(now_, [this] { return oldest(); });
  point.stream = number;
  if (state.last_giver != thread_number || state.last_version != giver.version) {
    point.known.learn(giver.known);
    point.known.learn(giver.orders);
    state.last_giver = thread_number;
    state.last_version = giver.version;
  }
  return point;
}

Point OrderStates::give_work(const Event& event) {
  ThreadState& giver = thread(event.thread);
  const uint64_t call = call_of(event.thread);
  Point& point = submit(event.stream, event.thread);
  StreamState& state = stream(event.stream);
  for (StreamNumber other : event.streams) {
    if (other == event.stream) continue;
    StreamState& before = stream(other);
    const Point& place = before.point.as_of(call);
    if (!point.known->solid.covers(other, place.tick) || !point.known->includes(*place.known)) {
      place.join_into(point.known.edit());
    }
    if (!gates_.empty()) state.gates.join(before.gates);
  }
  ++point.tick;
  if (gates_.empty()) state.gates = {};
  if (event.gate) {
    state.gates.raise(key_of(event.stream), point.tick);
    gates_.add(event.stream, point.tick, {{}, event.past});
  }
  if (giver.call != 0) giver.own_work.push_back(point);
  return point;
}

void OrderStates::record_mark(const Event& event) {
  const uint64_t call = call_of(event.thread);
  submit(event.stream, event.thread);
  StreamState& state = stream(event.stream);
  MarkState& mark = mark_now(event.mark);
  mark.point = state.point.as_of(call);
  mark.point.stream = event.stream;
  mark.point.known.learn(thread(event.thread).known);
  mark.doubtful = event.doubtful;
  mark.gates = gates_.empty() ? Clock{} : state.gates;
  mark.marker = event.marker;
  if (event.marker.valid()) mark_itself(event, mark);
}

// The record is after what it stands for, and before what is given to the stream later.
void OrderStates::mark_itself(const Event& event, MarkState& mark) {
  const auto change = [this](StreamNumber number) -> Point& {
    return stream(number).point.change(now_, [this] { return oldest(); });
  };
  Point& itself = change(event.marker);
  itself.stream = event.marker;
  mark.marker_tick = ++itself.tick;
  mark.point.known.edit().raise(event.marker, mark.marker_tick);
  itself.known = mark.point.known;
  change(event.stream).known.edit().raise(event.marker, mark.marker_tick);
}

void OrderStates::wait_mark(const Event& event) {
  const uint64_t call = call_of(event.thread);
  StreamState& state = stream(event.stream);
  Knowledge after, possible;
  bool first = true;
  marks_[event.mark].each_since(call, [&](const MarkState& mark) {
    Knowledge one;
    mark.point.join_into(one);
    possible.possible.join(one.possible);
    if (first) {
      after = one;
    } else {
      after.meet(one);
    }
    first = false;
    if (mark.doubtful) {
      Clock direct;
      add_everything(possible, direct);
    }
    if (!gates_.empty()) state.gates.join(mark.gates);
  });
  after.possible.join(possible.possible);
  Point& point = submit(event.stream, event.thread);
  if (!point.known->includes(after)) point.known.edit().join(after);
}

void OrderStates::mark_ends(const Event& event) {
  marks_.erase(event.mark);
  if (event.marker.valid()) end_stream(event.marker);
}

void OrderStates::stream_ends(const Event& event) { end_stream(event.stream); }

void OrderStates::end_stream(StreamNumber number) {
  const Point& point = stream(number).point.now();
  Knowledge& ended = ended_.edit();
  ended.possible.join(point.known->possible);
  ended.possible.raise(key_of(number), point.tick);
  streams_.erase(number);
}

bool OrderStates::waits_for_cpu(StreamNumber number) const {
  if (gates_.empty()) return false;
  const StreamState* state = streams_.find(number);
  return state && gates_.any_done(state->gates);
}

void OrderStates::add_everything(Knowledge& target, Clock& direct) const {
  target.possible.join(ended_->possible);
  direct.join(ended_->possible);
  for (const auto& [number, stream] : streams_) {
    const Point& point = stream.point.now();
    target.possible.join(point.known->possible);
    target.possible.raise(key_of(number), point.tick);
    direct.join(point.known->solid);
    direct.raise(key_of(number), point.tick);
  }
}

void OrderStates::may_let_go(Work gate, Work by, bool by_past) {
  Gate* found = gates_.find(gate.stream, gate.tick);
  if (!found) return;
  if (by_past) {
    found->unclear = true;
    return;
  }
  found->let_go_by.raise(key_of(by.stream), by.tick);
  if (const StreamState* state = streams_.find(by.stream))
    found->let_go_by.join(state->point.now().known->possible);
}

// Work that waits for the CPU may have been let go by any thread, or by other work: then what that thread knew, or
// that work was after, came before it.
void OrderStates::let_go(const Clock& direct, Knowledge& covered) {
  bool any = false;
  gates_.each_done(direct, [&](const Gate& gate) {
    unclear_ |= gate.past || gate.unclear;
    if (gate.past) return;
    any = true;
    covered.possible.join(gate.let_go_by);
  });
  if (!any) return;
  for (const ThreadState& thread : threads_) covered.possible.join(thread.known->possible);
}

void OrderStates::done(const Clock& certain) {
  gates_.done(certain, [](StreamNumber, uint32_t, const Gate&) {});
}

Knowledge OrderStates::covered(const Event& event) {
  const uint64_t call = call_of(event.thread);
  Knowledge covered;
  unclear_ = false;
  Clock direct;  // what may be covered by GPU order alone; only kept where work waits for the CPU
  auto may = [&](const Point& point) {
    covered.possible.join(point.known->possible);
    if (point.stream.valid()) covered.possible.raise(key_of(point.stream), point.tick);
    if (gates_.empty()) return;
    direct.join(point.known->solid);
    if (point.stream.valid()) direct.raise(key_of(point.stream), point.tick);
  };
  const Knowledge* joined = nullptr;  // streams that one thread feeds mostly hold the same
  auto of_stream = [&](StreamNumber number) {
    StreamState& state = stream(number);
    const Point& point = state.point.as_of(call);
    if (point.known.shared() != joined) covered.join(*point.known);
    joined = point.known.shared();
    if (point.stream.valid()) covered.raise(point.stream, point.tick);
    if (const Point& now = state.point.now(); &now != &point) {
      may(now);
    } else if (!gates_.empty()) {
      may(point);
    }
  };
  for (StreamNumber number : event.streams) of_stream(number);
  if (event.stream.valid()) of_stream(event.stream);
  if (event.mark.valid()) {
    Knowledge certain;
    bool first = true;
    marks_[event.mark].each_since(call, [&](const MarkState& mark) {
      Knowledge one;
      mark.point.join_into(one);
      covered.possible.join(one.possible);
      direct.join(one.solid);
      if (first) {
        certain = one;
      } else {
        certain.meet(one);
      }
      first = false;
      if (mark.doubtful) add_everything(covered, direct);
    });
    covered.join(certain);
  }
  ThreadState& waiter = thread(event.thread);
  if (event.covers_own_work) {
    for (const Point& own : waiter.own_work) {
      // Between the call's beginning and its own work another thread may have given some: then no clock can
      // say that the own work is done and the other is not.
      uint32_t expected = stream(own.stream).point.as_of(call).tick;
      for (const Point& earlier : waiter.own_work) {
        if (earlier.stream == own.stream && earlier.tick <= own.tick) ++expected;
      }
      if (own.tick == expected) {
        own.join_into(covered);
      }
      may(own);
    }
  }
  for (StreamNumber number : event.may_streams) may(stream(number).point.now());
  if (event.may_cover == MayCover::everything) add_everything(covered, direct);
  if (!gates_.empty()) let_go(direct, covered);
  return covered;
}

StreamNumber OrderStates::learns_unseen(ThreadNumber number) {
  constexpr uint32_t kLast = StreamNumber::kNone / 2 - 1;  // the events' numbers are counted up, these down
  const StreamNumber unseen{kLast - unseen_++};
  learns_unseen(number, unseen);
  return unseen;
}

void OrderStates::learns_unseen(ThreadNumber number, StreamNumber unseen) {
  ThreadState& state = thread(number);
  state.known.edit().raise(unseen, 1);
  ++state.version;
}

uint32_t OrderStates::returns(ThreadNumber number, const Knowledge& covered, bool own_work) {
  ThreadState& state = thread(number);
  Knowledge& known = state.known.edit();
  if (own_work) known.solid.join(covered.solid);
  known.certain.join(covered.certain);
  known.possible.join(covered.possible);
  known.solid.raise(key_of(number), ++state.returned);
  ++state.version;
  done(known.certain);
  return state.returned;
}

void OrderStates::orders(ThreadNumber number, const Knowledge& covered) {
  ThreadState& state = thread(number);
  Knowledge& orders = state.orders.edit();
  orders.certain.join(covered.certain);
  orders.possible.join(covered.possible);
  ++state.version;
}

void OrderStates::query(const Event& event) {
  ThreadState& state = thread(event.thread);
  auto same = [&](const ThreadState::Asked& asked, StreamNumber stream) {
    return asked.stream == stream && asked.mark == event.mark;
  };
  StreamNumber asked_stream = event.stream;
  if (!asked_stream.valid() && !event.streams.empty()) asked_stream = event.streams.front();
  const Knowledge now = covered(event);
  auto at = std::find_if(state.asked.begin(), state.asked.end(),
                         [&](const ThreadState::Asked& asked) { return same(asked, asked_stream); });
  if (!event.succeeded) {
    Knowledge known = now;
    known.possible = known.certain;
    if (at == state.asked.end()) {
      state.asked.push_back({asked_stream, event.mark, std::move(known)});
    } else {
      at->known = std::move(known);
    }
  } else if (at != state.asked.end()) {
    // What it has been asked before for, and is done now; where the mark was recorded anew, the rest is not.
    if (now.solid.includes(at->known.solid)) {
      Knowledge& known = state.known.edit();
      known.join(at->known);
      ++state.version;
      done(known.certain);
    }
    state.asked.erase(at);
  }
}

void OrderStates::knows(const Event& event) {
  ThreadState& state = thread(event.thread);
  stream(event.stream).point.now().join_into(state.known.edit());
  ++state.version;
  done(state.known->certain);
}

void OrderStates::see(ThreadNumber thread) {
  ThreadState& state = this->thread(thread);
  if (!state.seen && !state.ended) living_.push_back(thread);
  state.seen = true;
}

// It has told what it knows to who joins it, and nobody else can learn it.
void OrderStates::end_thread(ThreadNumber thread) {
  ThreadState& state = this->thread(thread);
  state.ended = true;
  std::erase(living_, thread);
  if (!ended_threads_->possible.includes(state.known->possible))
    ended_threads_.edit().possible.join(state.known->possible);
  state.known = {};
  state.own_work.clear();
  state.asked.clear();
}

void OrderStates::release(const Event& event) {
  if (event.last) return;
  const ThreadState& state = thread(event.thread);
  ObjectState& object = at(objects_, event.object);
  if (!object.many && (!object.only.valid() || object.only == event.thread)) {
    object.only = event.thread;
    object.known = state.known;  // a thread forgets nothing, so this holds its earlier releases, too
  } else {
    object.many = true;
    object.known.learn(state.known);
  }
  auto& releases = object.releases;
  // The object is another one at the same address.
  if (!releases.empty() && event.sequence < releases.back().sequence) releases.clear();
  releases.push_back({event.sequence, state.known});
  if (releases.size() <= kMostReleases) return;
  releases[1].known.learn(releases[0].known);
  releases.erase(releases.begin());
}

bool OrderStates::follow(const Event& event) {
  switch (event.kind) {
    case EventKind::call_begin:
      begin_call(event);
      return false;
    case EventKind::record_mark:
      record_mark(event);
      return false;
    case EventKind::wait_mark:
      wait_mark(event);
      return false;
    case EventKind::mark_ends:
      mark_ends(event);
      return false;
    case EventKind::stream_ends:
      stream_ends(event);
      return false;
    case EventKind::query:
      query(event);
      return false;
    case EventKind::release:
      release(event);
      return false;
    case EventKind::acquire:
      return acquire(event);
    case EventKind::knows:
      knows(event);
      return false;
    default:
      return false;
  }
}

bool OrderStates::acquire(const Event& event) {
  ThreadState& state = thread(event.thread);
  ObjectState& object = at(objects_, event.object);
  bool news = false;
  if (event.forced) {
    // Others may have come since, by chance.
    for (const ObjectState::Release& release : object.releases)
      if (release.sequence <= event.sequence) news |= state.known.learn(release.known);
  }
  if (!state.known->possible.includes(object.known->possible)) {
    state.known.edit().possible.join(object.known->possible);
    news = true;
  }
  if (news) ++state.version;
  if (event.last) object = {};
  return news;
}

}  // namespace diogenes::necessity
