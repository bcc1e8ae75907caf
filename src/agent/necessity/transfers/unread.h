// What nothing on the GPU can have read: data that was copied to the device and overwritten or released
// first, and device memory that was released without any access.
//
// In: each piece of work as it is given to a stream, with what it is ordered after; releases; what the host
// knows to be done. Out: an UnusedRecord where it is certain. Work whose memory is not known may read all of
// it, and so may work of other streams that is still running when a copy is given, or is started before the
// overwriting is surely over. Whatever is in doubt counts as used. Serialised by the collector's lock.
#pragma once
#include "agent/necessity/order/order.h"
#include "base/range.h"
#include "trace/format.h"

namespace diogenes::agent {

void append_unused(OperationId id, Unused unused, AddressRange range, OperationId by, uint8_t conditions = 0);

// One piece of work: the device memory that it names.
struct DeviceAccess {
  OperationId id;
  Slot stream = kNoSlot;
  Tick tick = 0;
  bool anything = false;       // may read and write whatever it likes
  AddressRange reads, writes;  // empty: nothing
  bool writes_whole = false;   // every byte of `writes`
  // Of a kernel: the allocations that its arguments name, any of which it may read and write.
  bool by_arguments = false;
  const AddressRange* given = nullptr;
  int given_count = 0;

  bool may_read(AddressRange range) const;
};

class Unread {
 public:
  static constexpr int kKept = 1024;  // the oldest beyond it count as used

  // Work was given to a stream, `clock` being what it is ordered after by the GPU or by the host.
  void work(const DeviceAccess& access, const Clock& clock);
  // That work was a copy of data to device memory, all of `access.writes`, which no work that it is not
  // ordered after may read. `rests`: that is so by the arguments of kernels.
  void uploaded(const DeviceAccess& access, bool rests);
  // Memory came into being, while the host knew `known(slot)`: a kernel that runs already may be told of it.
  template <typename Known>
  void allocated(OperationId id, AddressRange range, int width, Known&& known) {
    for (int i = 0; i < width; ++i)
      if (last_anything_[i] > known(static_cast<Slot>(i))) return;
    if (!range.empty()) add({range, id, true, false, false, kNoSlot, 0, kNoSlot, 0, {}});
  }
  // It is gone for the host and the GPU alike; a release in a stream's order is given as its work.
  void released(AddressRange range, OperationId by);
  void released_in_order(AddressRange range, const DeviceAccess& access, const Clock& clock);

  // Overwriting that the host knows to be over: `known(slot)` is up to which tick.
  bool has_closing() const { return closing_ > 0; }
  template <typename Known>
  void settle(Known&& known);

  // Work that is out of sight may read anything, from now on or just once.
  void give_up() { count_ = closing_ = 0; }
  void reset();

 private:
  struct Entry {
    AddressRange range;
    OperationId id;
    bool allocation, overwritten, rests;  // rests: on kernels' arguments
    Slot stream;                          // of the copy
    Tick tick;
    Slot over_stream;  // overwritten: by
    Tick over_tick;
    OperationId by;
  };
  static uint8_t conditions(const Entry& entry) { return entry.rests ? kConditionArguments : 0; }
  void add(const Entry& entry);
  void remove(int position);
  void overwrite(int position, const DeviceAccess& access, const Clock& clock);

  Entry entries_[kKept];
  int count_, closing_;
  Tick last_anything_[kMaximumStreams];  // the latest work that may read any memory
};

template <typename Known>
void Unread::settle(Known&& known) {
  for (int i = count_; i-- > 0;) {
    const Entry& entry = entries_[i];
    if (!entry.overwritten || entry.over_tick > known(entry.over_stream)) continue;
    append_unused(entry.id, Unused::overwritten, entry.range, entry.by, conditions(entry));
    remove(i);
  }
}

}  // namespace diogenes::agent
