#include "analysis/necessity/testing/literal_timeline.h"

#include <sstream>

namespace diogenes::necessity::testing {

Event Timeline::event(EventKind kind, ThreadNumber thread) {
  Event event;
  event.kind = kind;
  event.thread = thread;
  return event;
}

Timeline& Timeline::add(Event event) {
  event.at_ns = time_++;
  accesses_.emplace_back(event.accesses.begin(), event.accesses.end());
  event.accesses = accesses_.back();
  streams_.emplace_back(event.streams.begin(), event.streams.end());
  event.streams = streams_.back();
  streams_.emplace_back(event.may_streams.begin(), event.may_streams.end());
  event.may_streams = streams_.back();
  events_.push_back(event);
  return *this;
}

Timeline& Timeline::begin(ThreadNumber thread) {
  calling_[thread.value] = true;
  return add(event(EventKind::call_begin, thread));
}

Timeline& Timeline::end(ThreadNumber thread) {
  calling_[thread.value] = false;
  return add(event(EventKind::call_end, thread));
}

Timeline& Timeline::in_call(Event inner) {
  const bool alone = !calling_[inner.thread.value];
  inner.operation = {static_cast<uint16_t>(inner.thread.value), 0, sequence_[inner.thread.value]};
  if (inner.kind == EventKind::covers) ++sequence_[inner.thread.value];
  if (alone) begin(inner.thread);
  add(inner);
  if (alone) end(inner.thread);
  return *this;
}

Timeline& Timeline::work(ThreadNumber thread, StreamNumber stream, std::vector<Access> accesses) {
  Event work = event(EventKind::work, thread);
  work.stream = stream;
  work.accesses = accesses;
  return in_call(work);
}

Timeline& Timeline::gate(ThreadNumber thread, StreamNumber stream, std::vector<Access> accesses) {
  Event work = event(EventKind::work, thread);
  work.stream = stream;
  work.accesses = accesses;
  work.gate = true;
  return in_call(work);
}

Timeline& Timeline::blind(ThreadNumber thread, StreamNumber stream, uint32_t reasons) {
  Event work = event(EventKind::work, thread);
  work.stream = stream;
  work.blind = reasons;
  return in_call(work);
}

Timeline& Timeline::record(ThreadNumber thread, StreamNumber stream, MarkNumber mark, bool doubtful,
                           StreamNumber marker) {
  Event record = event(EventKind::record_mark, thread);
  record.stream = stream;
  record.mark = mark;
  record.doubtful = doubtful;
  record.marker = marker;
  return in_call(record);
}

Timeline& Timeline::wait(ThreadNumber thread, StreamNumber stream, MarkNumber mark) {
  Event wait = event(EventKind::wait_mark, thread);
  wait.stream = stream;
  wait.mark = mark;
  return in_call(wait);
}

Timeline& Timeline::sync(ThreadNumber thread, std::vector<StreamNumber> streams, uint32_t site, Wait wait) {
  Event covers = event(EventKind::covers, thread);
  covers.streams = streams;
  covers.site = SiteIndex{site};
  covers.wait = wait;
  return in_call(covers);
}

Timeline& Timeline::sync_mark(ThreadNumber thread, MarkNumber mark, uint32_t site) {
  Event covers = event(EventKind::covers, thread);
  covers.mark = mark;
  covers.site = SiteIndex{site};
  return in_call(covers);
}

Timeline& Timeline::may_sync(ThreadNumber thread, std::vector<StreamNumber> streams, uint32_t site) {
  Event covers = event(EventKind::covers, thread);
  covers.may_streams = streams;
  covers.may_cover = MayCover::streams;
  covers.site = SiteIndex{site};
  return in_call(covers);
}

Timeline& Timeline::may_sync_everything(ThreadNumber thread, uint32_t site) {
  Event covers = event(EventKind::covers, thread);
  covers.may_cover = MayCover::everything;
  covers.site = SiteIndex{site};
  return in_call(covers);
}

Timeline& Timeline::query(ThreadNumber thread, StreamNumber stream, bool succeeded) {
  Event query = event(EventKind::query, thread);
  query.stream = stream;
  query.succeeded = succeeded;
  return in_call(query);
}

Timeline& Timeline::uses_mark(ThreadNumber thread, MarkNumber mark) {
  Event uses = event(EventKind::uses_mark, thread);
  uses.mark = mark;
  return in_call(uses);
}

Timeline& Timeline::releases(ThreadNumber thread, MemoryNumber memory, bool deferrable) {
  Event releases = event(EventKind::releases, thread);
  releases.memory = memory;
  releases.range = {0, 8};
  releases.deferrable = deferrable;
  return add(releases);
}

Timeline& Timeline::watch(uint32_t watch, MemoryNumber memory, AddressRange range, bool read_only) {
  Event raised = event(EventKind::watch);
  raised.watch = WatchNumber{watch};
  raised.memory = memory;
  raised.range = range;
  raised.read_only = read_only;
  return add(raised);
}

Timeline& Timeline::touch(ThreadNumber thread, uint32_t watch, bool writes, Toucher by) {
  Event touch = event(EventKind::touch, thread);
  touch.watch = WatchNumber{watch};
  touch.writes = writes;
  touch.by = by;
  return add(touch);
}

Timeline& Timeline::unwatch(uint32_t watch, bool lost) {
  Event ended = event(EventKind::unwatch);
  ended.watch = WatchNumber{watch};
  ended.lost = lost;
  return add(ended);
}

Timeline& Timeline::unwatched(MemoryNumber memory, uint32_t blind, AddressRange range) {
  Event open = event(EventKind::unwatched);
  open.memory = memory;
  open.range = range;
  open.blind = blind;
  return add(open);
}

Timeline& Timeline::peer(MemoryNumber memory, bool writes, AddressRange range) {
  Event access = event(EventKind::peer);
  access.memory = memory;
  access.range = range;
  access.writes = writes;
  return add(access);
}

Timeline& Timeline::release(ThreadNumber thread, uint32_t object) {
  Event release = event(EventKind::release, thread);
  release.object = ObjectNumber{object};
  release.sequence = ++released_[object];
  return add(release);
}

Timeline& Timeline::acquire(ThreadNumber thread, uint32_t object, bool forced, uint32_t sequence) {
  Event acquire = event(EventKind::acquire, thread);
  acquire.object = ObjectNumber{object};
  acquire.forced = forced;
  acquire.sequence = sequence;
  return add(acquire);
}

Timeline& Timeline::sleep(ThreadNumber thread) { return add(event(EventKind::sleep, thread)); }
Timeline& Timeline::thread_ends(ThreadNumber thread) { return add(event(EventKind::thread_ends, thread)); }
Timeline& Timeline::mark_ends(MarkNumber mark) {
  Event ended = event(EventKind::mark_ends);
  ended.mark = mark;
  return add(ended);
}

Timeline& Timeline::stream_ends(StreamNumber stream) {
  Event ended = event(EventKind::stream_ends);
  ended.stream = stream;
  return add(ended);
}

Timeline& Timeline::ends() { return add(event(EventKind::ends)); }

std::string Timeline::text() const {
  static constexpr const char* kNames[] = {
      "call_begin", "work",      "record_mark", "wait_mark",   "covers",        "query",
      "uses_mark",  "allocates", "releases",    "call_end",    "watch",         "touch",
      "unwatch",    "unwatched", "release",     "acquire",     "sleep",         "thread_ends",
      "peer",       "ends",      "mark_ends",   "stream_ends", "window_begins", "knows"};
  std::ostringstream out;
  for (size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    out << i << ": ";
    if (event.thread.valid()) out << static_cast<char>('A' + event.thread.value) << ' ';
    out << kNames[static_cast<size_t>(event.kind)];
    if (event.stream.valid()) out << " s" << event.stream.value;
    if (event.mark.valid()) out << " mark" << event.mark.value;
    for (StreamNumber stream : event.streams) out << " streams:s" << stream.value;
    for (StreamNumber stream : event.may_streams) out << " may:s" << stream.value;
    if (event.may_cover == MayCover::everything) out << " may:everything";
    if (event.covers_own_work) out << " own";
    if (event.site.valid()) out << " site" << event.site.value;
    for (const Access& access : event.accesses) {
      out << (access.on_host ? " host" : " device") << (access.writes ? "-write" : "-read");
      if (access.memory.valid()) {
        out << "(m" << access.memory.value << ' ' << access.range.begin << ".." << access.range.end << ')';
      } else {
        out << "(any)";
      }
    }
    if (event.memory.valid())
      out << " m" << event.memory.value << ' ' << event.range.begin << ".." << event.range.end;
    if (event.watch.valid()) out << " watch" << event.watch.value;
    if (event.object.valid()) out << " object" << event.object.value;
    if (event.kind == EventKind::query) out << (event.succeeded ? " done" : " not ready");
    if (event.gate) out << " gate";
    if (event.blind != 0) out << " blind";
    if (event.doubtful) out << " doubtful";
    if (event.read_only) out << " read_only";
    if (event.writes) out << " writes";
    if (event.forced) out << " forced";
    if (event.lost) out << " lost";
    if (event.deferrable) out << " deferrable";
    if (event.wait.own_work) out << " own_work";
    out << '\n';
  }
  return out.str();
}

}  // namespace diogenes::necessity::testing
