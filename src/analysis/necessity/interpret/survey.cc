#include "analysis/necessity/interpret/survey.h"

#include <algorithm>

#include "analysis/necessity/interpret/record_cursor.h"
#include "driver/catalogue.h"

namespace diogenes::necessity {

Survey::Survey(const ProcessTrace& process) {
  for (Drop drop : {Drop::records_full, Drop::file_failed, Drop::threads_full})
    lost_records_ |= process.process.drops[static_cast<size_t>(drop)] > 0;
  for (const ThreadTrace& thread : process.threads) {
    bool asks_for_time = false;  // the last operation
    for (size_t i = 0; i < thread.record_count(); ++i) {
      switch (thread.type(i)) {
        case RecordType::operation: {
          const auto& record = thread.record<OperationRecord>(i);
          const DriverFunction* driver = driver_function(record.function);
          asks_for_time = driver && driver->arguments == Arguments::elapsed_time;
          if (asks_for_time) timed_.insert(record.object);
          break;
        }
        case RecordType::call:
          if (asks_for_time) timed_.insert(thread.record<CallRecord>(i).stream2);
          break;
        case RecordType::stream:
          look_at(thread.record<StreamRecord>(i), thread.ordinal());
          break;
        case RecordType::order:
          look_at(thread.record<OrderRecord>(i), thread.ordinal());
          break;
        case RecordType::touch:
          if (const auto& touch = thread.record<TouchRecord>(i); touch.late)
            late_touches_.push_back({time_of(thread, i), &touch});
          break;
        default:
          break;
      }
    }
    thread.release_pages();
  }
  std::stable_sort(sleepers_.begin(), sleepers_.end(),
                   [](const Sleeper& one, const Sleeper& other) { return one.since_ns < other.since_ns; });
  std::stable_sort(late_touches_.begin(), late_touches_.end(),
                   [](const LateTouch& one, const LateTouch& other) { return one.at_ns < other.at_ns; });
}

void Survey::look_at(const StreamRecord& record, uint32_t thread) {
  StreamFacts facts{record.context, record.flags};
  if (record.stream == kLegacyStream)
    legacy_.try_emplace(record.context, facts);
  else if (record.stream == kPerThreadStream)
    per_thread_.try_emplace({record.context, thread}, facts);
  else if (record.stream != kNoStream)
    streams_.try_emplace(record.stream, facts);
}

void Survey::look_at(const OrderRecord& record, uint32_t thread) {
  if (record.object == OrderObject::asleep_at_end) {
    sleepers_.push_back({static_cast<int64_t>(std::min<uint64_t>(record.address, INT64_MAX)), record.thread});
    return;
  }
  if (record.flags & kAcquires) ++acquires_[{record.object, record.address}];
  if (record.object != OrderObject::semaphore && record.object != OrderObject::condition) return;
  auto [found, fresh] = senders_.try_emplace({record.object, record.address});
  Senders& senders = found->second;
  bool known = senders.thread != 0;  // kept as thread + 1
  if (record.flags & kNotSeen) senders.missed = true;
  if (record.flags & kAcquires) return;
  if (known && senders.thread != thread + 1) senders.several = true;
  senders.thread = thread + 1;
}

namespace {

template <typename Map, typename Key>
const StreamFacts* find(const Map& map, const Key& key) {
  auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

const StreamFacts* Survey::stream(uint32_t number) const { return find(streams_, number); }
const StreamFacts* Survey::legacy_stream(uint16_t context) const { return find(legacy_, context); }
const StreamFacts* Survey::per_thread_stream(uint16_t context, uint32_t thread) const {
  return find(per_thread_, std::pair(context, thread));
}

bool Survey::one_sender(OrderObject object, uint64_t address) const {
  auto found = senders_.find({object, address});
  return !lost_records_ && found != senders_.end() && found->second.thread != 0 && !found->second.several &&
         !found->second.missed;
}

uint32_t Survey::acquires(OrderObject object, uint64_t address) const {
  auto found = acquires_.find({object, address});
  return found == acquires_.end() ? 0 : found->second;
}

}  // namespace diogenes::necessity
