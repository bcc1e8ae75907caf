// One thread's fact records as a timeline: what happened outside of calls, and each call with what happened
// in it, in the order that the judge wants.
//
// In: a thread file, in which the records of a call stand around its end:
//
//   touch, watch, ...  Operation  Transfer|Allocation  Call        written in this order, touches anywhere before Call
//
// Out: items with times that never go back:
//
//   touch (before)  call_begin  touch (inside)  call_body  watch, ... (the program has not gone on)  call_end
//
// Damaged times are clamped; records that belong to nothing are left out. Source: trace/format.h.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trace/reader.h"

namespace diogenes::necessity {

// One call with the records that follow it. Null: it has none.
struct RecordedCall {
  const OperationRecord* operation = nullptr;
  const TransferRecord* transfer = nullptr;
  const AllocationRecord* allocation = nullptr;
  const CallRecord* call = nullptr;
  uint32_t sequence = 0;
  int64_t begin_ns = 0, exit_ns = 0, end_ns = 0;  // exit: of the driver; end: the program goes on
};

enum class Step : uint8_t {
  call_begin,
  call_body,  // the driver has returned: what the call did
  call_end,
  record,  // a watch, unwatch, touch, memory event or order record
  sleep    // before an order record that says how long the thread was blocked
};

struct Item {
  int64_t at_ns = 0;
  Step step = Step::record;
  size_t position = 0;  // record, sleep: of the record in the thread's file
};

// When a fact record happened.
int64_t time_of(const ThreadTrace& thread, size_t position);
bool is_acquire(const ThreadTrace& thread, const Item& item);

class RecordCursor {
 public:
  explicit RecordCursor(const ThreadTrace& thread);

  // Null: the thread has no more.
  const Item* next() const { return at_ < items_.size() ? &items_[at_] : nullptr; }
  void advance();
  // The call of the current item, or the last one before it.
  const RecordedCall& call() const { return call_; }
  const ThreadTrace& thread() const { return *thread_; }

 private:
  // Records between two calls of a thread that are taken together; more than that belong to no call.
  static constexpr size_t kMostTogether = 1 << 16;
  static constexpr size_t kRecordsBetweenReleases = 1 << 17;  // 4 MiB

  void read_more();
  void read_call();
  std::optional<size_t> end_of_call() const;
  void add(Step step, int64_t at_ns, size_t position);
  void add_records(std::span<const size_t> positions, int64_t earliest, int64_t latest);

  const ThreadTrace* thread_;
  size_t position_ = 0, released_ = 0;
  uint32_t operations_ = 0;
  int64_t last_ns_ = 0;
  RecordedCall call_;
  std::vector<Item> items_;
  size_t at_ = 0;
  std::vector<size_t> before_,
      open_;  // used again and again: records before the call; refusals at an acquire
};

}  // namespace diogenes::necessity
