// Who let whom go on, in the schedule. In: the OrderRecords of stage 2, by thread. Out: points in the threads' CPU work
// at which a thread releases others, or goes on because others have released it (OrderPoint, schedule.h).
//
// An acquire follows the release that its record names; of barriers, starts and ends of threads the last one of each
// other thread that was recorded before it. What orders nothing new is left out. A thread of which no file tells more
// releases when it did. Where no order was recorded, starts and joins are inferred from the times.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/replay/recorded/schedule.h"
#include "trace/fact_records.h"

namespace diogenes::replay {

class ThreadOrder {
 public:
  // `thread`: its position in the schedule. `origin`: the process's start.
  void add(const OrderRecord& record, uint32_t thread, int64_t origin);

  // Fills in the points of all threads. `by_file`: the schedule's thread of each thread file.
  void place(Schedule& schedule, const std::unordered_map<uint32_t, uint32_t>& by_file);

 private:
  struct Event {
    OrderObject object;
    bool acquires, names_release;
    uint32_t sequence, thread, file;
    uint64_t address;
    int64_t at, slept, released;
  };
  std::vector<Event> events_;
};

// For schedules without recorded order: the main thread's node behind which each other thread began, and the one before
// which it had ended, become points.
void infer_order(Schedule& schedule);

}  // namespace diogenes::replay
