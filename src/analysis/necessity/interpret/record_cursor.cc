#include "analysis/necessity/interpret/record_cursor.h"

#include <algorithm>
#include <optional>

namespace diogenes::necessity {
namespace {

int64_t sane(int64_t ns) { return std::clamp<int64_t>(ns, 0, kLatestTime); }

// Facts that happen at a time of their own, in the program order of the thread that wrote them. Late touches
// are another's (survey.h), and streams are read in advance.
bool is_timed(const ThreadTrace& thread, size_t position) {
  switch (thread.type(position)) {
    case RecordType::touch:
      return thread.record<TouchRecord>(position).late == 0;
    case RecordType::watch:
    case RecordType::unwatch:
    case RecordType::memory_event:
    case RecordType::order:
      return true;
    default:
      return false;
  }
}

bool is_lowered(const ThreadTrace& thread, size_t position) {
  return thread.type(position) == RecordType::unwatch &&
         thread.record<UnwatchRecord>(position).why == WatchEnd::lowered;
}

bool is_acquire(const ThreadTrace& thread, size_t position) {
  return thread.type(position) == RecordType::order &&
         (thread.record<OrderRecord>(position).flags & kAcquires);
}

bool is_watch(const ThreadTrace& thread, size_t position) {
  return thread.type(position) == RecordType::watch || is_lowered(thread, position);
}

bool is_refusal(const ThreadTrace& thread, size_t position) {
  return thread.type(position) == RecordType::watch && thread.record<WatchRecord>(position).watch == 0;
}

int64_t blocked_ns(const ThreadTrace& thread, size_t position) {
  if (thread.type(position) != RecordType::order) return 0;
  const auto& order = thread.record<OrderRecord>(position);
  bool slept = (order.flags & kAcquires) && (order.flags & kBlocked);
  return slept ? int64_t{order.blocked_us} * 1000 : 0;
}

}  // namespace

int64_t time_of(const ThreadTrace& thread, size_t position) {
  switch (thread.type(position)) {
    case RecordType::touch:
      return sane(thread.record<TouchRecord>(position).at_ns);
    case RecordType::watch:
      return sane(thread.record<WatchRecord>(position).at_ns);
    case RecordType::unwatch:
      return sane(thread.record<UnwatchRecord>(position).at_ns);
    case RecordType::memory_event:
      return sane(thread.record<MemoryEventRecord>(position).at_ns);
    case RecordType::order:
      return sane(thread.record<OrderRecord>(position).at_ns);
    default:
      return 0;
  }
}

bool is_acquire(const ThreadTrace& thread, const Item& item) {
  return item.step == Step::record && is_acquire(thread, item.position);
}

RecordCursor::RecordCursor(const ThreadTrace& thread) : thread_(&thread) { read_more(); }

void RecordCursor::advance() {
  if (++at_ >= items_.size()) read_more();
}

void RecordCursor::add(Step step, int64_t at_ns, size_t position) {
  last_ns_ = std::max(last_ns_, at_ns);
  items_.push_back({last_ns_, step, position});
}

void RecordCursor::add_records(std::span<const size_t> positions, int64_t earliest, int64_t latest) {
  for (size_t i = 0; i < positions.size(); ++i) {
    const size_t position = positions[i];
    int64_t at_ns = std::clamp(time_of(*thread_, position), earliest, latest);
    if (int64_t blocked = blocked_ns(*thread_, position); blocked > 0)
      add(Step::sleep, std::max(earliest, at_ns - blocked), position);
    // Guards that go up at an acquire are up before the thread goes on; what could not be watched is open to
    // it only then.
    open_.clear();
    if (is_acquire(*thread_, position)) {
      for (; i + 1 < positions.size() && is_watch(*thread_, positions[i + 1]); ++i) {
        at_ns = std::clamp(time_of(*thread_, positions[i + 1]), earliest, latest);
        if (is_refusal(*thread_, positions[i + 1]))
          open_.push_back(positions[i + 1]);
        else
          add(Step::record, at_ns, positions[i + 1]);
      }
    }
    add(Step::record, at_ns, position);
    for (size_t refused : open_) add(Step::record, at_ns, refused);
  }
}

void RecordCursor::read_more() {
  items_.clear();
  at_ = 0;
  before_.clear();
  size_t count = thread_->record_count();
  while (items_.empty() && position_ < count) {
    if (position_ - released_ >= kRecordsBetweenReleases) {
      thread_->release_pages();
      released_ = position_;
    }
    if (thread_->type(position_) == RecordType::operation) {
      read_call();
      return;
    }
    if (is_timed(*thread_, position_)) before_.push_back(position_);
    ++position_;
    if (before_.size() == kMostTogether || position_ == count) add_records(before_, 0, kLatestTime);
  }
}

// The position behind the call's own record; none: it has none.
std::optional<size_t> RecordCursor::end_of_call() const {
  for (size_t at = position_; at < thread_->record_count(); ++at) {
    if (thread_->type(at) == RecordType::operation) return std::nullopt;
    if (thread_->type(at) == RecordType::call) return at + 1;
  }
  return std::nullopt;
}

void RecordCursor::read_call() {
  call_ = {};
  call_.operation = &thread_->record<OperationRecord>(position_++);
  call_.sequence = operations_++;
  const std::optional<size_t> end = end_of_call();
  for (bool more = true; more && position_ < thread_->record_count() && !call_.call;) {
    switch (thread_->type(position_)) {
      case RecordType::transfer:
        call_.transfer = &thread_->record<TransferRecord>(position_);
        break;
      case RecordType::allocation:
        call_.allocation = &thread_->record<AllocationRecord>(position_);
        break;
      case RecordType::call:
        call_.call = &thread_->record<CallRecord>(position_);
        break;
      case RecordType::operation:
        more = false;
        break;
      default:
        // Guards fall while the agent writes the call's records, too: what it asks of the driver then takes memory.
        if (!is_timed(*thread_, position_)) break;
        if (end)
          before_.push_back(position_);
        else
          more = false;
    }
    if (more) ++position_;
  }
  int64_t unit = (call_.operation->flags & kCoarseTimes) ? 1024 : 1;
  call_.begin_ns = sane(call_.operation->begin_ns);
  call_.exit_ns = call_.begin_ns + call_.operation->call * unit;
  call_.end_ns = call_.exit_ns + (call_.call ? call_.call->after_ns : 0);

  // Outside, inside before the driver returned, inside behind that. Watches are raised behind it.
  size_t first_inside = 0;
  while (first_inside < before_.size() && time_of(*thread_, before_[first_inside]) < call_.begin_ns)
    ++first_inside;
  // A guard that the agent lowers for the call comes down right before the driver is entered.
  int64_t begin_ns = call_.begin_ns;
  while (first_inside > 0 && is_lowered(*thread_, before_[first_inside - 1]))
    begin_ns = std::min(begin_ns, time_of(*thread_, before_[--first_inside]));
  std::span<const size_t> records(before_);
  add_records(records.first(first_inside), 0, begin_ns);
  add(Step::call_begin, begin_ns, position_);
  size_t behind = first_inside;
  while (behind < records.size() && thread_->type(records[behind]) != RecordType::watch &&
         time_of(*thread_, records[behind]) <= call_.exit_ns)
    ++behind;
  add_records(records.subspan(first_inside, behind - first_inside), begin_ns, call_.exit_ns);
  add(Step::call_body, call_.exit_ns, position_);
  add_records(records.subspan(behind), call_.exit_ns, call_.end_ns);
  add(Step::call_end, call_.end_ns, position_);
}

}  // namespace diogenes::necessity
