// Literal event traces for tests, and random ones.
// Each event that a call makes opens and closes a call of its own, unless begin() has opened one. Times count
// up by 1 ns an event, from where at() sets them.
#pragma once
#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/necessity/events.h"

namespace diogenes::necessity::testing {

inline constexpr ThreadNumber A{0}, B{1}, C{2};
inline constexpr StreamNumber s0{0}, s1{1}, s2{2};
inline constexpr MemoryNumber m0{0}, m1{1};

// Bytes [begin, end) of a memory.
inline Access device(MemoryNumber memory, uintptr_t begin, uintptr_t end, bool writes) {
  return {memory, {begin, end}, writes, writes, false, false};
}
inline Access device_read(MemoryNumber memory) { return device(memory, 0, 8, false); }
inline Access device_write(MemoryNumber memory) { return device(memory, 0, 8, true); }
inline Access host(MemoryNumber memory, uintptr_t begin, uintptr_t end, bool writes) {
  return {memory, {begin, end}, writes, writes, true, false};
}
inline Access host_read(MemoryNumber memory) { return host(memory, 0, 8, false); }
inline Access host_write(MemoryNumber memory) { return host(memory, 0, 8, true); }

class Timeline {
 public:
  Timeline& at(int64_t ns) {
    time_ = ns;
    return *this;
  }
  Timeline& begin(ThreadNumber thread);
  Timeline& end(ThreadNumber thread);
  Timeline& work(ThreadNumber thread, StreamNumber stream, std::vector<Access> accesses);
  Timeline& gate(ThreadNumber thread, StreamNumber stream, std::vector<Access> accesses = {});
  Timeline& blind(ThreadNumber thread, StreamNumber stream, uint32_t reasons);
  Timeline& record(ThreadNumber thread, StreamNumber stream, MarkNumber mark, bool doubtful = false,
                   StreamNumber marker = {});
  Timeline& wait(ThreadNumber thread, StreamNumber stream, MarkNumber mark);  // of a stream for an event
  // Synchronizations: of streams, of an event. `site` is also the number of the operation's stack.
  Timeline& sync(ThreadNumber thread, std::vector<StreamNumber> streams, uint32_t site, Wait wait = {});
  Timeline& sync_mark(ThreadNumber thread, MarkNumber mark, uint32_t site);
  // One that is known to cover nothing, and may cover these (or everything).
  Timeline& may_sync(ThreadNumber thread, std::vector<StreamNumber> streams, uint32_t site);
  Timeline& may_sync_everything(ThreadNumber thread, uint32_t site);
  Timeline& query(ThreadNumber thread, StreamNumber stream, bool succeeded);
  Timeline& uses_mark(ThreadNumber thread, MarkNumber mark);
  Timeline& releases(ThreadNumber thread, MemoryNumber memory, bool deferrable = false);
  Timeline& watch(uint32_t watch, MemoryNumber memory, AddressRange range = {0, 8}, bool read_only = false);
  Timeline& touch(ThreadNumber thread, uint32_t watch, bool writes = false, Toucher by = Toucher::program);
  Timeline& unwatch(uint32_t watch, bool lost);
  Timeline& unwatched(MemoryNumber memory, uint32_t blind, AddressRange range = {0, 8});
  Timeline& peer(MemoryNumber memory, bool writes = false, AddressRange range = {0, 8});
  Timeline& release(ThreadNumber thread, uint32_t object);
  Timeline& acquire(ThreadNumber thread, uint32_t object, bool forced, uint32_t sequence = UINT32_MAX);
  Timeline& sleep(ThreadNumber thread);
  Timeline& thread_ends(ThreadNumber thread);
  Timeline& mark_ends(MarkNumber mark);
  Timeline& stream_ends(StreamNumber stream);
  Timeline& ends();
  Timeline& add(Event event);  // any event; its lists are copied

  void replay(EventSink& sink) const {
    for (const Event& event : events_) sink.take(event);
  }
  const std::vector<Event>& events() const { return events_; }
  std::string text() const;  // one line an event

 private:
  Timeline& in_call(Event event);
  Event event(EventKind kind, ThreadNumber thread = {});

  std::vector<Event> events_;
  std::deque<std::vector<Access>> accesses_;
  std::deque<std::vector<StreamNumber>> streams_;
  std::map<uint32_t, bool> calling_;
  std::map<uint32_t, uint32_t> sequence_, released_;
  int64_t time_ = 1;
};

}  // namespace diogenes::necessity::testing
