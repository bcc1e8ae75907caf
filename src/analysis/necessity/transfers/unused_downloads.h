// Copies to the host whose data nobody used: the destination was overwritten or released, or the process
// ended, before any touch.
//
// In: work with what it is ordered after, waits and queries, and the intervals in which ranges were watched.
// Out: findings, where the destination was watched from the return of the first call behind which anybody
// could know that the copy was done, without interruption. A watch that the agent lowers for a call may be
// gone until that call returns. Whatever is in doubt counts as used.
//
// Large data is watched in parts. A copy is taken apart as its watches are, and each part has its own end. A copy whose parts
// all went unused is a finding; of the others it is known how many bytes went unused.
#pragma once
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/necessity/containers/range_index.h"
#include "analysis/necessity/transfers/unused_uploads.h"

namespace diogenes::necessity {

// Of a copy that was used in part.
struct UnusedPart {
  OperationId operation;
  uint64_t unused = 0, all = 0;  // bytes
};

class UnusedDownloads {
 public:
  explicit UnusedDownloads(std::vector<UnusedData>& out) : out_(out) {}

  // `downloads`: it is a copy from the device to the host; `copies`: any copy.
  void work(const Event& event, const Point& point, bool downloads, bool copies);
  // Whoever made this call may know that it is done: `possible` may be, beside its own work.
  void covered(const Event& event, const Clock& possible);
  void asked(const Event& event);
  void watch(const Event& event);
  void touch(const Event& event);
  void unwatch(const Event& event);
  void unwatched(const Event& event) { use(event.memory, event.range); }
  void uses(const Event& event) { use(event.memory, event.range); }
  void released(const Event& event);
  void call_begin(const Event& event);
  void call_end(const Event& event);
  // Outside of calls, a lowered watch is raised again or its memory released at once, or it is over.
  void anything_else();
  void ends();
  void give_up() { downloads_.clear(); }
  std::vector<UnusedPart> parts() const;

 private:
  static constexpr size_t kMostOpen = 1024;  // older ones count as used
  struct Download {                          // or a part of one
    MemoryNumber memory;
    AddressRange range;
    uint64_t all = 0;  // bytes that the copy brought
    OperationId operation;
    StreamNumber stream;
    uint32_t tick = 0;
    WatchNumber watch;    // on all of it; invalid: none
    bool known = false;   // somebody may know that it is done: it has to be watched
    ThreadNumber during;  // not watched until this thread's call returns
    bool untouched() const { return watch.valid() || !known || during.valid(); }
  };
  struct Watched {
    MemoryNumber memory;
    AddressRange range;
  };
  void use(MemoryNumber memory, AddressRange range);
  void watched_by(size_t at, WatchNumber watch, AddressRange range);
  void end_watch(WatchNumber watch);
  void close(const Download& download, Unused how, OperationId by);

  std::vector<UnusedData>& out_;
  std::vector<Download> downloads_;  // few are open at a time
  std::unordered_map<WatchNumber, Watched> watches_;
  std::unordered_map<MemoryNumber, RangeIndex<WatchNumber>> watched_;
  std::unordered_map<uint64_t, UnusedPart> parts_;  // by the copy (key_of)
  std::vector<WatchNumber> still_;                  // while they are looked up
  std::unordered_set<ThreadNumber> in_call_;
  size_t lowered_outside_ = 0;
};

}  // namespace diogenes::necessity
