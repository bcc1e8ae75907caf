#include "analysis/necessity/windows/window_events.h"

#include <algorithm>

namespace diogenes::necessity {
namespace {

bool needs_the_window(EventKind kind) {
  switch (kind) {
    case EventKind::call_begin:
    case EventKind::work:
    case EventKind::record_mark:
    case EventKind::wait_mark:
    case EventKind::covers:
    case EventKind::query:
    case EventKind::uses_mark:
    case EventKind::call_end:
    case EventKind::sleep:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Census::take(const Event& event) {
  auto count = [](auto number, uint32_t& next) {
    if (number.valid()) next = std::max(next, number.value + 1);
  };
  count(event.thread, threads);
  count(event.mark, marks);
  count(event.object, objects);
  count(event.stream, next_stream);
  count(event.marker, next_stream);
  for (StreamNumber stream : event.streams) count(stream, next_stream);
  for (StreamNumber stream : event.may_streams) count(stream, next_stream);
  if (event.marker.valid()) markers_.insert(event.marker);
}

std::vector<StreamNumber> Census::streams() const {
  std::vector<StreamNumber> all;
  for (uint32_t i = 0; i < next_stream; ++i)
    if (!markers_.contains(StreamNumber{i})) all.push_back(StreamNumber{i});
  return all;
}

WindowEvents::WindowEvents(const Census& census, int64_t begin_ns, int64_t end_ns, EventSink& to,
                           const WindowRules& rules)
    : census_(census),
      streams_(census.streams()),
      begin_ns_(begin_ns),
      end_ns_(end_ns),
      to_(to),
      rules_(rules),
      next_stream_(census.next_stream),
      next_mark_(census.marks),
      threads_(census.threads),
      past_of_object_(census.objects) {}

Event WindowEvents::event(EventKind kind, ThreadNumber thread, int64_t at_ns) const {
  Event event;
  event.kind = kind;
  event.thread = thread;
  event.at_ns = at_ns;
  return event;
}

WindowEvents::OfThread& WindowEvents::of(ThreadNumber thread) {
  if (thread.value >= threads_.size()) threads_.resize(thread.value + 1);
  return threads_[thread.value];
}

void WindowEvents::take(const Event& event) {
  if (over_) return;
  if (event.at_ns < begin_ns_) return before(event);
  if (event.at_ns >= end_ns_) {
    over_ = true;
    return;
  }
  if (!begun_) begin(event.at_ns);
  inside(event);
}

void WindowEvents::before(const Event& event) {
  if (event.thread.valid()) of(event.thread).there = true;
  switch (event.kind) {
    case EventKind::call_begin:
      of(event.thread).in_call = true;
      break;
    case EventKind::call_end:
      of(event.thread).in_call = false;
      break;
    case EventKind::thread_ends:
      of(event.thread).ended = true;
      break;
    case EventKind::covers:
      ++synchronizations_;
      break;
    case EventKind::watch:
      old_watches_[event.watch.value] = event;
      break;
    case EventKind::touch:
    case EventKind::unwatch:
      old_watches_.erase(event.watch.value);
      break;
    case EventKind::releases:
      memory_ends(event);
      break;
    default:
      break;
  }
}

void WindowEvents::begin(int64_t at_ns) {
  begun_ = true;
  to_.take(event(EventKind::window_begins, {}, at_ns));
  for (uint32_t i = 0; i < threads_.size(); ++i) {
    OfThread& thread = threads_[i];
    if (!thread.there || thread.ended) continue;
    thread.under_way = thread.in_call;
    if (!thread.under_way) continue;
    ++under_way_;
    to_.take(event(EventKind::call_begin, ThreadNumber{i}, at_ns));
  }
  if (rules_.unknown_work)
    for (StreamNumber stream : streams_) unknown_work(at_ns, stream, true);
  for (uint32_t i = 0; i < threads_.size(); ++i)
    if (threads_[i].there && !threads_[i].ended) has_a_past(at_ns, ThreadNumber{i});
}

void WindowEvents::inside(const Event& event) {
  if (event.thread.valid() && of(event.thread).under_way && needs_the_window(event.kind))
    return inside_hidden_call(event);
  if (under_way_ > 0 && rules_.calls_under_way) goes_on_unseen(event.at_ns);
  shown(event);
}

// What such a call did is not shown. What the thread knows when it has returned is its past.
void WindowEvents::inside_hidden_call(const Event& event) {
  if (event.kind == EventKind::covers) ++synchronizations_;
  if (event.kind != EventKind::call_end) return;
  if (rules_.calls_under_way) goes_on_unseen(event.at_ns);
  has_a_past(event.at_ns, event.thread);
  of(event.thread).under_way = false;
  --under_way_;
  to_.take(event);
}

void WindowEvents::shown(const Event& event) {
  switch (event.kind) {
    case EventKind::call_begin:
      of(event.thread).alone_at_begin = under_way_ == 0;
      of(event.thread).unseen_at_begin = unseen_;
      break;
    case EventKind::covers:
      return covers(event);
    case EventKind::record_mark:
      return record(event);
    case EventKind::wait_mark:
      to_.take(event);
      if (is_known(event.mark)) return;
      ++unseen_;
      unknown_work(event.at_ns, event.stream, true);
      return;
    case EventKind::mark_ends:
      recorded_.erase(event.mark.value);
      break;
    case EventKind::query:
      query(event);
      break;
    case EventKind::acquire:
      return acquire(event);
    case EventKind::release:
      if (of(event.thread).under_way) has_a_past(event.at_ns, event.thread);
      break;
    case EventKind::watch:
      return watch(event);
    case EventKind::touch:
    case EventKind::unwatch:
      old_watches_.erase(event.watch.value);
      if (watches_.erase(event.watch.value) == 0) return;  // nobody saw it
      break;
    case EventKind::releases:
      memory_ends(event);
      break;
    default:
      break;
  }
  to_.take(event);
}

// A guard goes up at the return of a wait that the window shows.
void WindowEvents::watch(const Event& event) {
  if (under_way_ > 0) {
    old_watches_[event.watch.value] = event;
    return;
  }
  watches_[event.watch.value] = event;
  to_.take(event);
}

void WindowEvents::watch_again(int64_t at_ns) {
  if (!rules_.watched_again) return;
  for (auto& [number, watch] : old_watches_) {
    watch.at_ns = at_ns;
    watches_[number] = watch;
    to_.take(watch);
  }
  old_watches_.clear();
}

void WindowEvents::memory_ends(const Event& event) {
  if (event.lives_on) return;
  const auto gone = [&event](const auto& watch) {
    return watch.second.memory == event.memory && event.range.contains(watch.second.range);
  };
  std::erase_if(old_watches_, gone);
  std::erase_if(watches_, gone);
}

// It may have been told 'not ready' before the window: then it knows now what was given before that.
void WindowEvents::query(const Event& event) {
  const StreamNumber stream =
      event.stream.valid() || event.streams.empty() ? event.stream : event.streams.front();
  const Asked asked{event.thread.value, stream.value, event.mark.value};
  if (!event.succeeded) {
    asked_.insert(asked);
    return;
  }
  const bool asked_here = asked_.erase(asked) > 0 && (!event.mark.valid() || is_known(event.mark));
  if (!asked_here && !answered_.contains(asked) && rules_.asked_before)
    learns(event.at_ns, event.thread, unknown_work(event.at_ns, false));
  answered_.insert(asked);
}

// What was handed on by the object before the window goes with it.
void WindowEvents::acquire(const Event& event) {
  if (rules_.known_to_objects) {
    StreamNumber& past = past_of_object_[event.object.value];
    if (!past.valid()) past = unknown_work(event.at_ns, false);
    learns(event.at_ns, event.thread, past);
  }
  if (!rules_.one_sender || !event.one_sender) return to_.take(event);
  Event by_chance = event;
  by_chance.forced = false;
  to_.take(by_chance);
  learns(event.at_ns, event.thread, unknown_work(event.at_ns, false));
}

// A call that is not shown may have recorded the event later. What the record does to its stream stays.
void WindowEvents::record(const Event& event) {
  if ((of(event.thread).alone_at_begin && under_way_ == 0) || !rules_.calls_under_way) {
    recorded_.insert(event.mark.value);
    return to_.take(event);
  }
  recorded_.erase(event.mark.value);
  Event other = event;
  other.mark = MarkNumber{next_mark_++};
  to_.take(other);
}

// What it waits for is not clear if its event is of the past, or if other work may have come between its call and its work.
void WindowEvents::covers(const Event& event) {
  instances_.push_back(synchronizations_++);
  Event unclear = event;
  unclear.unclear = (event.mark.valid() && !is_known(event.mark)) ||
                    (event.covers_own_work && of(event.thread).unseen_at_begin != unseen_);
  to_.take(unclear);
  watch_again(event.at_ns);
}

// Calls that are not shown may give work at any time.
void WindowEvents::goes_on_unseen(int64_t at_ns) {
  ++unseen_;
  for (StreamNumber stream : streams_) unknown_work(at_ns, stream, true);
}

StreamNumber WindowEvents::unknown_work(int64_t at_ns, StreamNumber stream, bool gate) {
  Event work = event(EventKind::work, ThreadNumber{census_.threads}, at_ns);
  const Access any{.writes = true, .on_host = true};
  work.past = true;
  work.stream = stream;
  work.accesses = {&any, 1};
  work.gate = gate && rules_.may_wait;
  to_.take(work);
  return stream;
}

void WindowEvents::learns(int64_t at_ns, ThreadNumber thread, StreamNumber stream) {
  Event knows = event(EventKind::knows, thread, at_ns);
  knows.stream = stream;
  to_.take(knows);
}

void WindowEvents::has_a_past(int64_t at_ns, ThreadNumber thread) {
  if (rules_.known_to_threads) learns(at_ns, thread, unknown_work(at_ns, false));
}

}  // namespace diogenes::necessity
