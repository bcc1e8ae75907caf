#include "analysis/necessity/interpret/interpret.h"

#include <memory>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/necessity/interpret/call_interpreter.h"
#include "analysis/necessity/interpret/record_cursor.h"
#include "analysis/necessity/interpret/watch_interpreter.h"

namespace diogenes::necessity {
namespace {

// A lock, a semaphore, a thread's start: kind and address.
struct ObjectKey {
  OrderObject object;
  uint64_t address;
  bool operator==(const ObjectKey&) const = default;
};

}  // namespace
}  // namespace diogenes::necessity

template <>
struct std::hash<diogenes::necessity::ObjectKey> {
  size_t operator()(const diogenes::necessity::ObjectKey& key) const noexcept {
    return (key.address ^ (static_cast<uint64_t>(key.object) << 56)) * 0x9e3779b97f4a7c15;
  }
};

namespace diogenes::necessity {
namespace {

class OrderInterpreter {
 public:
  explicit OrderInterpreter(Tables& tables) : tables_(tables) {}

  void take(const OrderRecord& record, ThreadNumber thread, int64_t at_ns) {
    const bool acquires = (record.flags & kAcquires) != 0;
    if (acquires && record.object == OrderObject::thread_start) started_[record.address] = thread;
    if (!acquires && record.object == OrderObject::thread_end) started_.erase(record.address);
    // A thread that had nothing to record does not say itself that it ended.
    if (acquires && record.object == OrderObject::thread_end && record.sequence == 0)
      ends(record.address, at_ns);
    Event event;
    event.kind = acquires ? EventKind::acquire : EventKind::release;
    event.thread = thread;
    event.at_ns = at_ns;
    event.object = objects_.of({record.object, record.address});
    if (event.object.value >= acquires_left_.size())
      acquires_left_.resize(event.object.value + 1, kNotCounted);
    uint32_t& left = acquires_left_[event.object.value];
    if (left == kNotCounted) left = tables_.survey.acquires(record.object, record.address);
    if (acquires) --left;
    event.last = left == 0;
    event.sequence = record.sequence;
    event.one_sender = acquires && !(record.flags & kForced);
    if (acquires)
      event.forced = !(record.flags & kNotSeen) &&
                     ((record.flags & kForced) || tables_.survey.one_sender(record.object, record.address));
    tables_.sink.take(event);
  }

 private:
  void ends(uint64_t number, int64_t at_ns) {
    auto found = started_.find(number);
    if (found == started_.end()) return;
    Event event;
    event.kind = EventKind::thread_ends;
    event.thread = found->second;
    event.at_ns = at_ns;
    tables_.sink.take(event);
    started_.erase(found);
  }

  static constexpr uint32_t kNotCounted = UINT32_MAX;

  Tables& tables_;
  Numbering<ObjectNumber, ObjectKey> objects_;
  std::vector<uint32_t> acquires_left_;                 // by ObjectNumber
  std::unordered_map<uint64_t, ThreadNumber> started_;  // by the number that the agent gave them
};

// The last that a thread did was to end.
bool ends_itself(const ThreadTrace& thread) {
  if (thread.record_count() == 0) return false;
  size_t last = thread.record_count() - 1;
  if (thread.type(last) != RecordType::order) return false;
  const auto& order = thread.record<OrderRecord>(last);
  return order.object == OrderObject::thread_end && !(order.flags & kAcquires);
}

class InTheirOrder {
 public:
  InTheirOrder(const Process& process, const Survey& survey, std::span<const PeerAccess> peers,
               EventSink& sink, bool with_sites)
      : tables_(process, survey, sink, with_sites),
        peers_(peers),
        calls_(tables_),
        watches_(tables_),
        orders_(tables_),
        lossy_(survey.lost_records()) {
    const auto& threads = process.trace->threads;
    cursors_.reserve(threads.size());
    for (const ThreadTrace& thread : threads) {
      cursors_.emplace_back(thread);
      damaged_ |= thread.damaged();
      push(cursors_.size() - 1);
    }
    // A file that cannot be read may have held anything, at any time.
    damaged_ |= process.trace->process.threads > threads.size();
    if (process.trace->process.threads > threads.size()) watches_.lose_sight(0);
  }

  Unclear run() {
    while (!queue_.empty()) {
      const size_t index = std::get<2>(queue_.top());
      queue_.pop();
      while (step(index)) continue;
    }
    take_late(kLatestTime);
    take_peers(kLatestTime);
    watches_.finish();
    // What an exec leaves behind nobody can read any more.
    ProcessEnd end = tables_.process.trace->process.end;
    bool orderly = end == ProcessEnd::orderly || end == ProcessEnd::exec;
    if (orderly && !damaged_ && !lossy_) {
      Event event;
      event.kind = EventKind::ends;
      event.at_ns = last_ns_;
      tables_.sink.take(event);
    }
    return tables_.unclear;
  }
  std::vector<UnnamedMemory::Span> unnamed() const { return tables_.unnamed.until(last_ns_); }

 private:
  using Queued = std::tuple<int64_t, bool, size_t>;  // time, acquires, cursor

  // Of a release and the acquire that follows it at the same time, the release comes first.
  Queued queued(size_t index, const Item& item) const {
    return {item.at_ns, is_acquire(cursors_[index].thread(), item), index};
  }

  void push(size_t index) {
    if (const Item* item = cursors_[index].next()) queue_.push(queued(index, *item));
  }

  // True: the thread's next record is the next one of all.
  bool step(size_t index) {
    RecordCursor& cursor = cursors_[index];
    const Item item = *cursor.next();
    take_late(item.at_ns);
    take_peers(item.at_ns);
    take_sleepers(item.at_ns);
    last_ns_ = item.at_ns;
    uint32_t ordinal = cursor.thread().ordinal();
    switch (item.step) {
      case Step::call_begin:
        calls_.begin(cursor.call(), ordinal, item.at_ns);
        break;
      case Step::call_body:
        calls_.body(cursor.call(), ordinal, item.at_ns);
        break;
      case Step::call_end:
        calls_.end(cursor.call(), ordinal, item.at_ns);
        break;
      case Step::sleep:
        thread_event(EventKind::sleep, ordinal, item.at_ns);
        break;
      case Step::record:
        record(cursor.thread(), item);
        break;
    }
    cursor.advance();
    const Item* next = cursor.next();
    if (!next) {
      thread_is_over(cursor.thread(), item.at_ns);
      return false;
    }
    const Queued then = queued(index, *next);
    if (queue_.empty() || then < queue_.top()) return true;
    queue_.push(then);
    return false;
  }

  void record(const ThreadTrace& thread, const Item& item) {
    uint32_t ordinal = thread.ordinal();
    switch (thread.type(item.position)) {
      case RecordType::watch:
        return watches_.take(thread.record<WatchRecord>(item.position), ordinal, item.at_ns);
      case RecordType::touch:
        return watches_.take(thread.record<TouchRecord>(item.position), ordinal, item.at_ns);
      case RecordType::unwatch:
        return watches_.take(thread.record<UnwatchRecord>(item.position), ordinal, item.at_ns);
      case RecordType::memory_event:
        return watches_.take(thread.record<MemoryEventRecord>(item.position), ordinal, item.at_ns);
      case RecordType::order:
        if (thread.record<OrderRecord>(item.position).object == OrderObject::asleep_at_end) return;
        return orders_.take(thread.record<OrderRecord>(item.position), tables_.thread(ordinal), item.at_ns);
      default:
        return;
    }
  }

  void thread_is_over(const ThreadTrace& thread, int64_t at_ns) {
    over_.insert(thread.ordinal());
    if (ends_itself(thread))
      thread_event(EventKind::thread_ends, thread.ordinal(), at_ns);
    else if (thread.damaged() || lossy_)
      watches_.lose_sight(at_ns);  // what it touched from here on is not in its file
  }

  void thread_event(EventKind kind, uint32_t ordinal, int64_t at_ns) {
    Event event;
    event.kind = kind;
    event.thread = tables_.thread(ordinal);
    event.at_ns = at_ns;
    tables_.sink.take(event);
  }

  // Touches of others up to this time.
  void take_late(int64_t until_ns) {
    const auto& late = tables_.survey.late_touches();
    for (; late_ < late.size() && late[late_].at_ns <= until_ns; ++late_) {
      last_ns_ = std::max(last_ns_, late[late_].at_ns);
      watches_.take(*late[late_].record, late[late_].record->thread, last_ns_);
    }
  }

  // Accesses by other processes up to this time.
  void take_peers(int64_t until_ns) {
    for (; peer_ < peers_.size() && peers_[peer_].at_ns <= until_ns; ++peer_) {
      last_ns_ = std::max(last_ns_, peers_[peer_].at_ns);
      watches_.take(peers_[peer_], last_ns_);
    }
  }

  // Threads that went to sleep up to this time, and were never seen again.
  void take_sleepers(int64_t until_ns) {
    const auto& sleepers = tables_.survey.sleepers();
    for (; sleeper_ < sleepers.size() && sleepers[sleeper_].since_ns <= until_ns; ++sleeper_) {
      const Sleeper& sleeper = sleepers[sleeper_];
      if (over_.contains(sleeper.thread))
        thread_event(EventKind::sleep, sleeper.thread, std::max(last_ns_, sleeper.since_ns));
    }
  }

  Tables tables_;
  std::span<const PeerAccess> peers_;
  CallInterpreter calls_;
  WatchInterpreter watches_;
  OrderInterpreter orders_;
  std::vector<RecordCursor> cursors_;
  std::priority_queue<Queued, std::vector<Queued>, std::greater<>> queue_;
  size_t late_ = 0, peer_ = 0, sleeper_ = 0;
  std::unordered_set<uint32_t> over_;  // ordinals of threads whose records have ended
  int64_t last_ns_ = 0;
  bool lossy_ = false, damaged_ = false;
};

}  // namespace

Unclear Interpretation::replay(EventSink& sink, std::vector<UnnamedMemory::Span>* unnamed) const {
  InTheirOrder replay(process_, survey_, peers_, sink, true);
  const Unclear unclear = replay.run();
  if (unnamed) *unnamed = replay.unnamed();
  return unclear;
}

Unclear Interpretation::replay_without_sites(EventSink& sink) const {
  return InTheirOrder(process_, survey_, peers_, sink, false).run();
}

}  // namespace diogenes::necessity
