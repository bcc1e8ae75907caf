#include "agent/necessity/transfers/unread.h"

#include <cstring>

#include "agent/recorder.h"

namespace diogenes::agent {

void append_unused(OperationId id, Unused unused, AddressRange range, OperationId by, uint8_t conditions) {
  UnusedRecord record{};
  record.type = RecordType::unused;
  record.unused = unused;
  record.thread = id.thread;
  record.sequence = id.sequence;
  record.conditions = conditions;
  record.bytes = range.size();
  record.by = by;
  append(record);
}

bool DeviceAccess::may_read(AddressRange range) const {
  if (anything || reads.overlaps(range)) return true;
  for (int i = 0; i < given_count; ++i)
    if (given[i].overlaps(range)) return true;
  return false;
}

void Unread::add(const Entry& entry) {
  if (count_ == kKept) {
    memmove(entries_, entries_ + 1, sizeof(Entry) * (kKept - 1));
    --count_;
    closing_ = 0;
    for (int i = 0; i < count_; ++i) closing_ += entries_[i].overwritten;
  }
  entries_[count_++] = entry;
}

void Unread::remove(int position) {
  closing_ -= entries_[position].overwritten;
  --count_;
  memmove(entries_ + position, entries_ + position + 1,
          sizeof(Entry) * static_cast<size_t>(count_ - position));
}

// Only what is surely there before it is overwritten has lost its chance; of two in no order either may win.
void Unread::overwrite(int position, const DeviceAccess& access, const Clock& clock) {
  Entry& entry = entries_[position];
  if (entry.overwritten) return;
  if (entry.tick > clock[entry.stream]) return remove(position);
  entry.overwritten = true;
  entry.over_stream = access.stream;
  entry.over_tick = access.tick;
  entry.by = access.id;
  ++closing_;
}

void Unread::work(const DeviceAccess& access, const Clock& clock) {
  for (int i = count_; i-- > 0;) {
    Entry& entry = entries_[i];
    bool reads = access.may_read(entry.range);
    entry.rests |= access.by_arguments && !reads;
    bool writes = access.writes.overlaps(entry.range);
    if (entry.allocation) {
      if (reads || writes) remove(i);
    } else if (reads) {
      bool behind = entry.overwritten && entry.over_tick <= clock[entry.over_stream];
      if (!behind) remove(i);
    } else if (writes && access.writes_whole && access.writes.contains(entry.range)) {
      overwrite(i, access, clock);
    }
  }
  if (access.anything) last_anything_[access.stream] = access.tick;
}

void Unread::uploaded(const DeviceAccess& access, bool rests) {
  add({access.writes, access.id, false, false, rests, access.stream, access.tick, kNoSlot, 0, {}});
}

void Unread::released(AddressRange range, OperationId by) {
  for (int i = count_; i-- > 0;) {
    if (!range.contains(entries_[i].range)) continue;
    Entry entry = entries_[i];
    remove(i);
    append_unused(entry.id, entry.overwritten ? Unused::overwritten : Unused::released, entry.range,
                  entry.overwritten ? entry.by : by, conditions(entry));
  }
}

void Unread::released_in_order(AddressRange range, const DeviceAccess& access, const Clock& clock) {
  for (int i = count_; i-- > 0;) {
    if (!range.contains(entries_[i].range)) continue;
    if (!entries_[i].allocation) {
      overwrite(i, access, clock);
      continue;
    }
    Entry entry = entries_[i];
    remove(i);
    append_unused(entry.id, Unused::released, entry.range, access.id, conditions(entry));
  }
}

void Unread::reset() {
  give_up();
  memset(last_anything_, 0, sizeof last_anything_);
}

}  // namespace diogenes::agent
