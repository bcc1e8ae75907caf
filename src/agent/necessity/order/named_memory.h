// Which memory each piece of GPU work names, and when each stream last named it: two pieces that name no
// common allocation need no order between them (DESIGN.md, section 7, clause 3). In: the work's allocations,
// as name_work() finds them. Out: the latest work of a stream beside which other work may not run.
//
// An allocation's name is a small number, from its birth to its release. Other memory at the same address has
// another one: the release waits for what was done to the old, or is ordered by its stream, and so would what
// it is replaced by (a pool). Where there are more allocations than names, some share one, which costs
// precision only. Copies and fills read or write; a kernel counts as if it wrote all that it is given. What
// is not certain counts as 'anything': it may not run beside any work. Serialised by the collector's lock.
#pragma once
#include "agent/necessity/order/fixed_map.h"
#include "agent/necessity/order/order.h"
#include "base/range.h"

namespace diogenes::agent {

using Name = uint16_t;
inline constexpr Name kNoName = 0;
inline constexpr Name kVariables = 1;  // all device variables of modules whose address was asked for
inline constexpr int kMaximumNames = 2048;

// What one piece of work names.
struct Named {
  static constexpr int kMaximum = 64, kHosts = 8;
  Name names[kMaximum];
  bool writes[kMaximum];
  // Pageable memory, and memory that is registered now, by its address: if a copy to it did not wait, it
  // could be under way still when the next one comes to the same bytes.
  AddressRange host[kHosts];
  bool host_writes[kHosts];
  uint8_t count, hosts;
  bool anything;  // reaches memory that is not known
  bool kernel;    // reaches nothing else, if it reaches memory only through its arguments
  bool nothing() const { return count == 0 && hosts == 0 && !anything; }

  void clear() { count = hosts = 0, anything = kernel = false; }
  void add(Name name, bool written);
  void add_host(AddressRange range, bool written);
};

class NamedMemory {
 public:
  // Of an allocation that begins there.
  Name name_of(uint64_t begin);
  void released(uint64_t begin);

  // The latest work of `stream`, up to that tick, that may not run beside such work; 0: none.
  Tick latest_conflict(Slot stream, const Named& named, Tick up_to) const;
  // Is it only by their arguments that such work and that of `stream` after `tick` do not meet?
  bool rests_on_arguments(Slot stream, Tick tick, const Named& named) const;
  // Has the stream got a kernel after `tick` whose memory is known by its arguments?
  bool kernel_behind(Slot stream, Tick tick) const { return last_[stream].kernel > tick; }
  void note(Slot stream, Tick tick, const Named& named);

  void reset();

 private:
  Name take();

  // The last few ticks, the latest first.
  struct Ticks {
    static constexpr int kKept = 3;
    Tick tick[kKept];

    void add(Tick added);
    // Where all that are kept are later, it counts as there: an older one may be.
    Tick latest(Tick up_to) const;
  };
  struct HostUse {
    AddressRange range;
    Tick tick;  // 0: none
    bool written;
  };
  static constexpr int kHostUses = 16;
  struct Last {
    Tick any, kernel;
    Ticks anything;
    Ticks read[kMaximumNames], written[kMaximumNames];
    HostUse host[kHostUses];
    Tick more_host;  // the latest use of host memory that is not among these
  };
  void note_host(Last& last, Tick tick, AddressRange range, bool written);

  Last last_[kMaximumStreams];
  struct Holder {
    uint32_t users;     // allocations that live; more than one where names are shared
    uint32_t released;  // when the last of them went
  };
  Holder holders_[kMaximumNames];
  FixedMap<Name, 4096> by_begin_;
  int fresh_, shared_;
  uint32_t releases_;
};

}  // namespace diogenes::agent
