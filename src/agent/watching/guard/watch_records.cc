#include "agent/watching/guard/watch_records.h"

#include <algorithm>
#include <atomic>

#include "agent/core/recording/recorder.h"
#include "agent/core/thread_state.h"
#include "agent/watching/guard/section.h"
#include "agent/watching/guard/threads/threads.h"

namespace diogenes::agent {

namespace {

std::atomic<uint32_t> watches{0};

struct End {
  uint32_t watch, thread;
  bool on_driver_thread;
  Touch touch;
};
constexpr uint32_t kMaximumLate = 512;
constinit End late[kMaximumLate] = {};  // under the table's lock
std::atomic<uint32_t> late_count{0};

bool is_touch(TouchBy by) {
  return by == TouchBy::program || by == TouchBy::driver || by == TouchBy::system_call ||
         by == TouchBy::exposed;
}

Toucher toucher_of(TouchBy by, bool on_driver_thread) {
  switch (by) {
    case TouchBy::program:
      return on_driver_thread ? Toucher::host_function : Toucher::program;
    case TouchBy::driver:
      return Toucher::driver;
    case TouchBy::system_call:
      return Toucher::system_call;
    default:
      return Toucher::unseen;
  }
}

WatchEnd end_of(TouchBy by) {
  switch (by) {
    case TouchBy::nobody:
      return WatchEnd::lowered;
    case TouchBy::gone:
      return WatchEnd::released;
    default:
      return WatchEnd::given_up;
  }
}

void write(const End& end, bool is_late) {
  if (!is_touch(end.touch.by)) {
    append(UnwatchRecord{.type = RecordType::unwatch,
                         .why = end_of(end.touch.by),
                         .watch = end.watch,
                         .at_ns = end.touch.at.count ? end.touch.at.count : monotonic_now().count});
    return;
  }
  append(TouchRecord{.type = RecordType::touch,
                     .by = toucher_of(end.touch.by, end.on_driver_thread),
                     .access = end.touch.access == Access::read    ? Touching::reads
                               : end.touch.access == Access::write ? Touching::writes
                                                                   : Touching::unknown,
                     .late = is_late,
                     .watch = end.watch,
                     .at_ns = end.touch.at.count,
                     .address = end.touch.address,
                     .held_us = static_cast<uint16_t>(std::min<int64_t>(end.touch.held.count / 1000, 0xffff)),
                     .stack = end.touch.stack,
                     .thread = is_late ? end.thread : 0});
}

}  // namespace

uint32_t next_watch() { return watches.fetch_add(1, std::memory_order_relaxed) + 1; }

void record_watch(uint32_t watch, AddressRange range, Protection protection, Nanoseconds at) {
  append(WatchRecord{.type = RecordType::watch,
                     .protection = protection == Protection::read_only ? WatchProtection::read_only
                                                                       : WatchProtection::no_access,
                     .watch = watch,
                     .begin = range.begin,
                     .bytes = range.size(),
                     .at_ns = at.count});
}

void record_refusal(AddressRange range, WatchRefusal refusal) {
  append(WatchRecord{.type = RecordType::watch,
                     .refusal = refusal,
                     .begin = range.begin,
                     .bytes = range.size(),
                     .at_ns = monotonic_now().count});
}

void record_watch_end(uint32_t watch, const Touch& touch) {
  if (watch == 0) return;
  bool unseen = touch.by == TouchBy::exposed;
  End end{watch, unseen ? 0xffffffff : own_thread_file(), guard_thread.driver, touch};
  if (!is_appending()) {
    write(end, false);
    return;
  }
  uint32_t count = late_count.load(std::memory_order_relaxed);
  if (count == kMaximumLate) {
    // Without its end the watch is as good as touched by anybody: the reader takes it so.
    count_drop(Drop::guards_full);
    return;
  }
  late[count] = end;
  late_count.store(count + 1, std::memory_order_relaxed);
}

void record_late_ends() {
  if (late_count.load(std::memory_order_relaxed) == 0) return;
  Section section(Section::outside);
  uint32_t count = late_count.exchange(0, std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) write(late[i], true);
}

}  // namespace diogenes::agent
