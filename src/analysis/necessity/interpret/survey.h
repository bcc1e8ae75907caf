// What has to be known of a trace before its first event: a look over all records.
// In: all thread files of a process. Out: its streams, touches that were written down by others or later, and
// who let others go on by which object.
#pragma once
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trace/reader.h"

namespace diogenes::necessity {

struct StreamFacts {
  uint16_t context = 0;  // number; 0: not known
  uint8_t flags = 0;     // StreamFlag
};

// A touch that stands in another thread's file, or at another place of its own.
struct LateTouch {
  int64_t at_ns = 0;
  const TouchRecord* record = nullptr;
};

// A thread that was asleep when the process ended.
struct Sleeper {
  int64_t since_ns = 0;
  uint32_t thread = 0;  // ordinal
};

class Survey {
 public:
  explicit Survey(const ProcessTrace& process);

  // Null: never recorded.
  const StreamFacts* stream(uint32_t number) const;
  const StreamFacts* legacy_stream(uint16_t context) const;
  const StreamFacts* per_thread_stream(uint16_t context, uint32_t thread) const;
  const std::vector<LateTouch>& late_touches() const { return late_touches_; }  // by time
  const std::vector<Sleeper>& sleepers() const { return sleepers_; }            // by time
  bool lost_records() const { return lost_records_; }                           // at a time that is not known
  // One thread alone let others go on by this semaphore or condition, and nothing of it was missed.
  bool one_sender(OrderObject object, uint64_t address) const;
  // Somebody asks for the time between this event and another, which fails unless both are complete.
  bool is_timed(uint32_t event) const { return timed_.contains(event); }
  // How often threads went on because of this object, in all.
  uint32_t acquires(OrderObject object, uint64_t address) const;

 private:
  struct Senders {
    uint32_t thread = 0;
    bool several = false, missed = false;
  };
  void look_at(const StreamRecord& record, uint32_t thread);
  void look_at(const OrderRecord& record, uint32_t thread);

  bool lost_records_ = false;
  std::unordered_map<uint32_t, StreamFacts> streams_;
  std::map<uint16_t, StreamFacts> legacy_;
  std::map<std::pair<uint16_t, uint32_t>, StreamFacts> per_thread_;
  std::vector<LateTouch> late_touches_;
  std::vector<Sleeper> sleepers_;
  std::map<std::pair<OrderObject, uint64_t>, Senders> senders_;
  std::map<std::pair<OrderObject, uint64_t>, uint32_t> acquires_;
  std::unordered_set<uint32_t> timed_;
};

}  // namespace diogenes::necessity
