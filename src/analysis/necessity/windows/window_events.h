// What a window shows of a process's events: those that came in it, with what is not known as events of their own. So the judge
// and the check take a window as they take a whole process.
// In: all events of a process, and from when to when the window was open. Out: `window_begins`; for each stream, work that
// nobody saw and that may reach any memory; for each thread and lock, work of which it alone knows that it is done; then what
// came in the window. Where the window does not see the process end, the judge takes what comes behind it as unknown.
// Source: docs/necessity.md (Windows).
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "analysis/necessity/events.h"

namespace diogenes::necessity {

// What a process's events name. Threads, memory and what makes CUDA's objects are followed at all times, so a window knows it.
class Census : public EventSink {
 public:
  void take(const Event& event) override;
  uint32_t threads = 0, marks = 0, objects = 0, next_stream = 0;  // numbers from here on are free
  std::vector<StreamNumber> streams() const;  // but those that hold the records of one event alone

 private:
  std::set<StreamNumber> markers_;
};

// Each is needed; tests leave one out.
struct WindowRules {
  bool unknown_work = true;      // streams have a past
  bool may_wait = true;          // what nobody saw may wait for the CPU
  bool calls_under_way = true;   // calls that were under way at the beginning may do anything until they end
  bool known_to_threads = true;  // threads have a past, and are there before the window shows them
  bool known_to_marks = true;    // CUDA events have a past
  bool known_to_objects = true;  // locks have a past
  bool asked_before = true;      // queries have a past
  bool one_sender = true;        // that one thread alone signals an object is not known
  bool watched_again =
      true;  // what was watched is watched again from the first wait on. For findings, not for soundness
};

class WindowEvents : public EventSink {
 public:
  // The window is [begin_ns, end_ns), CLOCK_MONOTONIC. `census` and `to` outlive it.
  WindowEvents(const Census& census, int64_t begin_ns, int64_t end_ns, EventSink& to,
               const WindowRules& rules = {});
  void take(const Event& event) override;
  // Of each synchronization that was handed on, which one of the process's it is.
  const std::vector<size_t>& instances() const { return instances_; }

 private:
  struct OfThread {
    bool there = false, ended = false;
    bool in_call = false;
    bool under_way = false;        // in a call that the window does not show
    bool alone_at_begin = true;    // no such call was under way when its own began
    uint32_t unseen_at_begin = 0;  // unseen_ when its call began
  };
  void before(const Event& event);
  void begin(int64_t at_ns);
  void inside(const Event& event);
  void inside_hidden_call(const Event& event);
  void shown(const Event& event);
  void watch(const Event& event);
  void watch_again(int64_t at_ns);
  void memory_ends(const Event& event);
  void query(const Event& event);
  void acquire(const Event& event);
  void record(const Event& event);
  void covers(const Event& event);
  void goes_on_unseen(int64_t at_ns);
  StreamNumber unknown_work(int64_t at_ns, StreamNumber stream, bool gate);
  StreamNumber unknown_work(int64_t at_ns, bool gate) {
    return unknown_work(at_ns, StreamNumber{next_stream_++}, gate);
  }
  bool is_known(MarkNumber mark) const { return !rules_.known_to_marks || recorded_.contains(mark.value); }
  void learns(int64_t at_ns, ThreadNumber thread, StreamNumber stream);
  void has_a_past(int64_t at_ns, ThreadNumber thread);
  OfThread& of(ThreadNumber thread);
  Event event(EventKind kind, ThreadNumber thread, int64_t at_ns) const;

  const Census& census_;
  const std::vector<StreamNumber> streams_;
  const int64_t begin_ns_, end_ns_;
  EventSink& to_;
  const WindowRules rules_;
  bool begun_ = false, over_ = false;
  uint32_t next_stream_, next_mark_;
  uint32_t under_way_ = 0;  // calls
  uint32_t unseen_ = 0;     // how often unseen work may have come into a stream since the window began
  std::vector<OfThread> threads_;
  std::map<uint32_t, Event> old_watches_;                  // up, and not raised in the window
  std::map<uint32_t, Event> watches_;                      // raised in it
  std::vector<StreamNumber> past_of_object_;               // invalid: nobody has asked for it
  using Asked = std::tuple<uint32_t, uint32_t, uint32_t>;  // thread, stream, mark
  std::set<Asked> asked_, answered_;                       // in the window
  std::set<uint32_t> recorded_;  // CUDA events of which the window shows the last record
  size_t synchronizations_ = 0;  // of the process, so far
  std::vector<size_t> instances_;
};

}  // namespace diogenes::necessity
