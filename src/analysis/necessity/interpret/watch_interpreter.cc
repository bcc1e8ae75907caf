#include "analysis/necessity/interpret/watch_interpreter.h"

#include <algorithm>
#include <vector>

#include "analysis/necessity/interpret/call_effects.h"

namespace diogenes::necessity {
namespace {

Event event_of(EventKind kind, ThreadNumber thread, int64_t at_ns) {
  Event event;
  event.kind = kind;
  event.thread = thread;
  event.at_ns = at_ns;
  return event;
}

}  // namespace

void WatchInterpreter::take(const WatchRecord& record, uint32_t thread, int64_t at_ns) {
  Place place = tables_.memories.place(range_of(record.begin, record.bytes), MemoryKind::pageable);
  if (place.range.empty()) return;
  bool raised = record.refusal == WatchRefusal::none && record.watch != 0 && !blind_ &&
                !watched_.contains(record.watch);
  Event event = event_of(raised ? EventKind::watch : EventKind::unwatched, tables_.thread(thread), at_ns);
  event.memory = place.memory;
  event.range = place.range;
  if (!raised) {
    event.blind = record.refusal == WatchRefusal::none ? uint32_t{kUnresolved} : reason_of(record.refusal);
    return tables_.sink.take(event);
  }
  event.watch = {next_++};
  event.read_only = record.protection == WatchProtection::read_only;
  watched_[record.watch] = {event.watch, place};
  tables_.sink.take(event);
  if (auto early = early_.find(record.watch); early != early_.end()) {
    Early ended = early->second;
    early_.erase(early);
    if (ended.touch) take(*ended.touch, ended.thread, at_ns);
    if (ended.unwatch) take(*ended.unwatch, ended.thread, at_ns);
  }
}

void WatchInterpreter::take(const TouchRecord& record, uint32_t thread, int64_t at_ns) {
  auto found = watched_.find(record.watch);
  if (found == watched_.end()) {
    if (!blind_) early_[record.watch] = {&record, nullptr, thread};
    return;
  }
  const bool host_function = record.by == Toucher::host_function;
  // What a host function does was ordered as work that may use anything, when it was given.
  const bool of_no_thread = record.by == Toucher::unseen || (host_function && tables_.gave_host_function);
  Event event = event_of(EventKind::touch, tables_.thread(of_no_thread ? kNoThread : thread), at_ns);
  event.watch = found->second.number;
  event.memory = found->second.place.memory;
  event.range = found->second.place.range;
  event.writes = record.access != Touching::reads;  // not known: the stronger
  event.by = host_function ? Toucher::program : record.by;
  event.stack = record.stack;
  event.address = record.address;
  event.held_ns = static_cast<int64_t>(record.held_us) * 1000;
  end(record.watch);
  tables_.sink.take(event);
  // The driver's threads touch nothing else unseen, and a call on a program's thread ends with an event.
  if ((host_function || record.by == Toucher::driver) && event.thread.valid())
    tables_.sink.take(event_of(EventKind::sleep, event.thread, at_ns));
}

void WatchInterpreter::take(const UnwatchRecord& record, uint32_t thread, int64_t at_ns) {
  auto found = watched_.find(record.watch);
  if (found == watched_.end()) {
    if (!blind_) early_[record.watch] = {nullptr, &record, thread};
    return;
  }
  Event event = event_of(EventKind::unwatch, tables_.thread(thread), at_ns);
  event.watch = found->second.number;
  event.memory = found->second.place.memory;
  event.range = found->second.place.range;
  event.lost = record.why != WatchEnd::lowered && record.why != WatchEnd::released;
  end(record.watch);
  tables_.sink.take(event);
  if (record.why == WatchEnd::released) take_release(event);
}

// By the program itself. What the driver allocated stays, and so does its content: at most the program's pages for it went.
// What is registered the GPU still writes, also where malloc gives it out again.
void WatchInterpreter::take_release(Event event) {
  event.kind = EventKind::releases;
  event.lives_on |= tables_.memories.find(event.range.begin) != nullptr;
  event.in_reach = !event.lives_on && tables_.memories.is_registered(event.range);
  tables_.sink.take(event);
}

void WatchInterpreter::take_memory_event(bool lives_on, const MemoryEventRecord& record, const Place& place,
                                         uint32_t thread, int64_t at_ns) {
  Event event = event_of(EventKind::releases, tables_.thread(thread), at_ns);
  event.lives_on = lives_on;
  event.memory = place.memory;
  event.range = place.range;
  event.stack = record.stack;
  event.by = Toucher::system_call;
  take_release(event);
}

void WatchInterpreter::take(const MemoryEventRecord& record, uint32_t thread, int64_t at_ns) {
  // Only memory that work or a watch has named matters.
  for (const Place& place : tables_.memories.known_pieces(range_of(record.begin, record.bytes))) {
    if (record.event != MemoryEvent::released) take_memory_event(true, record, place, thread, at_ns);
    if (record.event == MemoryEvent::released || record.event == MemoryEvent::moved)
      take_memory_event(false, record, place, thread, at_ns);
  }
}

void WatchInterpreter::take(const PeerAccess& access, int64_t at_ns) {
  if (access.file) return lose_sight(at_ns);
  for (const Place& place : tables_.memories.known_pieces(access.range)) {
    Event event = event_of(EventKind::peer, {}, at_ns);
    event.memory = place.memory;
    event.range = place.range;
    event.writes = access.writes;
    tables_.sink.take(event);
  }
}

void WatchInterpreter::lose_sight(int64_t at_ns) {
  if (blind_) return;
  blind_ = true;
  std::vector<Watched> lost;
  for (const auto& [watch, watched] : watched_) lost.push_back(watched);
  std::sort(lost.begin(), lost.end(),
            [](const Watched& one, const Watched& other) { return one.number < other.number; });
  watched_.clear();
  for (const Watched& watched : lost) {
    Event event = event_of(EventKind::unwatch, {}, at_ns);
    event.watch = watched.number;
    event.memory = watched.place.memory;
    event.range = watched.place.range;
    event.lost = true;
    tables_.sink.take(event);
  }
}

}  // namespace diogenes::necessity
