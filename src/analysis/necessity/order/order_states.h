// What streams, CUDA events, locks and threads stand after, in the three orders of vector_clock.h.
// In: the events that make order. Out: for each thread and stream what it knows now; for each synchronization
// what it covers. Nothing here knows of memory.
// Source: docs/necessity.md (the order).
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "analysis/necessity/containers/number_map.h"
#include "analysis/necessity/events.h"
#include "analysis/necessity/order/until_done.h"
#include "analysis/necessity/order/vector_clock.h"

namespace diogenes::necessity {

// Does the event name what its kind needs? One that does not is passed over.
bool well_formed(const Event& event);

// A place in a stream: all work up to `tick`, and what that was ordered after.
struct Point {
  StreamNumber stream;
  uint32_t tick = 0;
  SharedKnowledge known;

  void join_into(Knowledge& target) const {
    target.join(*known);
    if (stream.valid()) target.raise(stream, tick);
  }
};

// A value and what it was before, as far back as a call that still runs can ask.
template <typename Value>
class Versions {
 public:
  const Value& now() const { return now_; }
  uint64_t since() const { return since_; }
  // What it was when event number `event` came.
  const Value& as_of(uint64_t event) const {
    if (since_ < event) return now_;
    for (size_t i = older_.size(); i-- > 0;) {
      if (older_[i].first < event) return older_[i].second;
    }
    static const Value kNone;
    return kNone;
  }
  template <typename Visit>  // each value that it had from `event` on
  void each_since(uint64_t event, Visit visit) const {
    visit(now_);
    if (since_ < event) return;
    for (size_t i = older_.size(); i-- > 0;) {
      visit(older_[i].second);
      if (older_[i].first < event) return;
    }
    visit(Value{});  // from before its first
  }
  template <typename Visit>
  void each(Visit visit) const {
    visit(now_);
    for (auto& [since, value] : older_) visit(value);
  }
  // Changes it at event number `event`; `oldest` tells of the oldest running call's beginning.
  template <typename Oldest>
  Value& change(uint64_t event, Oldest oldest) {
    if (since_ == event) return now_;
    if (older_.size() >= most_) {
      const uint64_t begin = oldest();
      size_t unused = 0;
      while (unused + 1 < older_.size() && older_[unused + 1].first < begin) ++unused;
      older_.erase(older_.begin(), older_.begin() + static_cast<ptrdiff_t>(unused));
      most_ = 2 * older_.size() + 2;
    }
    older_.emplace_back(since_, now_);
    since_ = event;
    return now_;
  }

 private:
  Value now_{};
  uint64_t since_ = 0;
  size_t most_ = 2;
  std::vector<std::pair<uint64_t, Value>> older_;
};

struct StreamState {
  Versions<Point> point;
  Clock gates;  // the last work of each stream that may wait for the CPU and that this stream is after
  ThreadNumber last_giver;
  uint64_t last_version = 0;
};

struct MarkState {
  Point point;
  StreamNumber marker;       // Event::marker
  uint32_t marker_tick = 0;  // the record's place in it
  bool doubtful = false;
  Clock gates;

  // The work that has to be complete for the mark to be. 0: none.
  std::pair<StreamNumber, uint32_t> last() const {
    return marker.valid() ? std::pair(marker, marker_tick) : std::pair(point.stream, point.tick);
  }
};

struct ThreadState {
  SharedKnowledge known;
  SharedKnowledge orders;       // what is given later comes behind that, too
  uint64_t version = 1;         // counts changes of both
  uint32_t returned = 0;        // synchronizations
  uint64_t call = 0;            // event number of the running call's beginning; 0: none
  int64_t call_at_ns = 0;       // when it began
  std::vector<Point> own_work;  // given by the running call
  bool seen = false, asleep = false, ended = false;
  // Queries that said 'not ready', until they succeed.
  struct Asked {
    StreamNumber stream;
    MarkNumber mark;
    Knowledge known;
  };
  std::vector<Asked> asked;

  // Inside a call a thread runs the driver, which touches nothing of the program unseen.
  bool can_touch() const { return seen && !asleep && !ended && call == 0; }
};

struct ObjectState {
  SharedKnowledge known;  // by all releases
  struct Release {
    uint32_t sequence;
    SharedKnowledge known;
  };
  std::vector<Release> releases;  // the latest; the first of them stands for those before it, too
  ThreadNumber only;              // the one thread that released it
  bool many = false;
};

class OrderStates {
 public:
  void next_event() { ++now_; }
  uint64_t now() const { return now_; }

  ThreadState& thread(ThreadNumber number) { return at(threads_, number); }
  StreamState& stream(StreamNumber number) { return streams_[number]; }
  MarkState& mark_now(MarkNumber number) {
    return marks_[number].change(now_, [this] { return oldest(); });
  }
  const MarkState& mark(MarkNumber number) { return marks_[number].now(); }
  const std::vector<ThreadState>& threads() const { return threads_; }
  const std::vector<ThreadNumber>& living() const { return living_; }  // seen, and not ended
  const Clock& known_to_ended() const { return ended_threads_->possible; }
  // Everything that anybody can learn from: visit_knowledge(Knowledge&), visit_point(stream, tick,
  // const Knowledge&).
  template <typename VisitKnowledge, typename VisitPoint>
  void each_holder(VisitKnowledge visit_knowledge, VisitPoint visit_point);
  // What one such walk takes, about: the visits of the last one, and a look at who has ended.
  size_t holders() const { return visits_ + (threads_.size() + objects_.size()) / 64; }
  // Everything that anybody can learn from, each with what it stands after itself: visit(ThreadNumber, const Knowledge&). The
  // thread is invalid where it is no thread's. States that took the same events are visited in the same order.
  template <typename Visit>
  void each_source(Visit visit) const;
  bool waits_for_cpu(StreamNumber stream) const;  // its next work may
  template <typename Visit>                       // visit(const MarkState&): what a CUDA event stands for now
  void each_mark(Visit visit) const {
    for (const auto& [number, mark] : marks_) visit(mark.now());
  }
  template <typename Visit>
  void each_gate(Visit visit) const {
    gates_.each([&](StreamNumber stream, uint32_t tick, const Gate&) { visit(stream, tick); });
  }

  // What any event does to the order but work, synchronizations, and the ends of calls and threads. True: its thread has
  // learned something new from another.
  bool follow(const Event& event);
  void end_call(ThreadNumber thread);
  // Work that may let go a piece of work that may wait (Event::gate): then the latter comes behind it. Both were given.
  // `by_past`: it may stand for any (Event::past).
  struct Work {
    StreamNumber stream;
    uint32_t tick;
  };
  void may_let_go(Work gate, Work by, bool by_past = false);
  // The work's place in its stream: what it knows beside itself is known.
  Point give_work(const Event& event);
  // What a synchronization or a query covers: solid means directly, by GPU order alone.
  Knowledge covered(const Event& event);
  // What was asked for last may cover more: work that may have been let go out of sight.
  bool unclear() const { return unclear_; }
  // A thread has waited for that. Out: a stream of work of which it alone knows from now on, which is done. For states that do
  // not decide themselves, the stream that another one's thread has learned of.
  StreamNumber learns_unseen(ThreadNumber thread);
  void learns_unseen(ThreadNumber thread, StreamNumber unseen);
  // A synchronization has returned. Out: which one of its thread it is.
  uint32_t returns(ThreadNumber thread, const Knowledge& covered, bool own_work);
  // In place of a synchronization, the streams that its thread gives work later wait for what it covered.
  void orders(ThreadNumber thread, const Knowledge& covered);
  void done(const Clock& certain);  // somebody knows that this work is: it waits for the CPU no longer
  void see(ThreadNumber thread);    // it does something
  void end_thread(ThreadNumber thread);

 private:
  void begin_call(const Event& event);
  void record_mark(const Event& event);
  void knows(const Event& event);
  void wait_mark(const Event& event);
  void mark_ends(const Event& event);
  void stream_ends(const Event& event);
  void query(const Event& event);
  void release(const Event& event);
  bool acquire(const Event& event);  // false: nothing new
  template <typename State, typename Tag>
  static State& at(std::vector<State>& all, Index<Tag> number) {
    if (number.value >= all.size()) make_room(all, number);
    return all[number.value];
  }
  template <typename State, typename Tag>
  [[gnu::noinline]] static void make_room(std::vector<State>& all, Index<Tag> number) {
    all.resize(number.value + 1);
  }
  Point& submit(StreamNumber stream, ThreadNumber thread);
  void end_stream(StreamNumber number);
  void mark_itself(const Event& event, MarkState& mark);
  uint64_t oldest() const;  // event number of the beginning of the oldest running call
  uint64_t call_of(ThreadNumber thread) {
    const ThreadState& state = this->thread(thread);
    return state.call != 0 ? state.call : now_;
  }
  void add_everything(Knowledge& target, Clock& direct) const;
  void let_go(const Clock& direct, Knowledge& covered);

  uint64_t now_ = 0, walks_ = 0;
  bool unclear_ = false;
  uint32_t unseen_ = 0;  // streams of learns_unseen()
  size_t visits_ = 0;
  std::vector<ThreadState> threads_;
  std::vector<ThreadNumber> living_;
  SharedKnowledge ended_threads_;                 // possible: what those knew that have ended
  NumberMap<StreamNumber, StreamState> streams_;  // that have not ended
  NumberMap<MarkNumber, Versions<MarkState>> marks_;
  SharedKnowledge ended_;  // possible: what is in streams that have
  std::vector<ObjectState> objects_;
  struct Gate {
    Clock let_go_by;
    bool past = false;     // Event::past: it may be none
    bool unclear = false;  // by work that nobody saw, too
  };
  UntilDone<Gate> gates_;  // of work that may wait for the CPU
};

template <typename VisitKnowledge, typename VisitPoint>
void OrderStates::each_holder(VisitKnowledge visit_knowledge, VisitPoint visit_point) {
  ++walks_;
  visits_ = 0;
  auto held = [&](const SharedKnowledge& known) {
    Knowledge* shared = known.shared();
    if (!shared || shared->visited == walks_) return;  // many hold the same
    shared->visited = walks_;
    ++visits_;
    visit_knowledge(*shared);
  };
  auto place = [&](const Point& point) {
    held(point.known);
    ++visits_;
    if (point.stream.valid()) visit_point(point.stream, point.tick, *point.known);
  };
  for (ThreadState& thread : threads_) {
    held(thread.known);
    held(thread.orders);
    for (const Point& own : thread.own_work) place(own);
    for (ThreadState::Asked& asked : thread.asked) visit_knowledge(asked.known);
  }
  held(ended_);
  held(ended_threads_);
  for (const auto& [number, stream] : streams_) stream.point.each(place);
  for (const auto& [number, mark] : marks_) {
    mark.each([&](const MarkState& version) { place(version.point); });
  }
  for (const ObjectState& object : objects_) {
    held(object.known);
    for (const ObjectState::Release& release : object.releases) held(release.known);
  }
}

template <typename Visit>
void OrderStates::each_source(Visit visit) const {
  auto place = [&](const Point& point) {
    Knowledge known;
    point.join_into(known);
    visit(ThreadNumber{}, known);
  };
  for (uint32_t i = 0; i < threads_.size(); ++i) {
    const ThreadState& thread = threads_[i];
    Knowledge known = *thread.known;
    known.join(*thread.orders);
    visit(ThreadNumber{i}, known);
    for (const ThreadState::Asked& asked : thread.asked) visit(ThreadNumber{i}, asked.known);
  }
  visit(ThreadNumber{}, *ended_);
  visit(ThreadNumber{}, *ended_threads_);
  for (const auto& [number, stream] : streams_) stream.point.each(place);
  for (const auto& [number, mark] : marks_) {
    mark.each([&](const MarkState& version) { place(version.point); });
  }
  for (const ObjectState& object : objects_) {
    visit(ThreadNumber{}, *object.known);
    for (const ObjectState::Release& release : object.releases) visit(ThreadNumber{}, *release.known);
  }
}

}  // namespace diogenes::necessity
