// Which memory each piece of GPU work names, and when each stream last named it: two pieces that name no
// common allocation need no order between them (DESIGN.md, section 7, clause 3). In: the work's allocations,
// as name_work() finds them. Out: the latest work of a stream beside which other work may not run.
//
// An allocation's name is a small number, from its birth to its release. Other memory at the same address has
// another one: the release waits for what was done to the old, or is ordered by its stream, and so would what
// it is replaced by (a pool). Where there are more allocations than names, some share one, which costs
// precision only. Copies and fills read or write; a kernel counts as if it wrote all that it is given. What is
// not certain counts as 'anything': it may not run beside any work. Serialised by the collector's lock.
#pragma once
#include "agent/necessity/fixed_map.h"
#include "agent/necessity/order.h"
#include "base/range.h"

namespace diogenes::agent {

using Name = uint16_t;
inline constexpr Name kNoName = 0;
inline constexpr Name kVariables = 1;  // all device variables of modules whose address was asked for
inline constexpr Name kHostRange = 2;  // host memory, by its address and not by its allocation, from here ...
inline constexpr Name kFirstName = 0x300;  // ... to here
inline constexpr int kMaximumNames = 0xb00;

// What one piece of work names.
struct Named {
  static constexpr int kMaximum = 64;
  Name names[kMaximum];
  bool writes[kMaximum];
  uint8_t count;
  bool anything;  // reaches memory that is not known
  bool kernel;    // reaches nothing else, if it reaches memory only through its arguments
  bool nothing() const { return count == 0 && !anything; }

  void clear() { count = 0, anything = kernel = false; }
  void add(Name name, bool written);
  // Host memory on one side of a copy. If the copy did not wait, it could be under way still when the next
  // one comes to the same pageable bytes, or to bytes that were registered before.
  void add_host(AddressRange range, bool written);
};

class NamedMemory {
 public:
  // Of an allocation that begins there.
  Name name_of(uint64_t begin);
  void released(uint64_t begin);

  // The latest work of `stream` that may not run beside such work; 0: none.
  Tick latest_conflict(Slot stream, const Named& named) const;
  // Is it only by their arguments that such work and that of `stream` after `tick` do not meet?
  bool rests_on_arguments(Slot stream, Tick tick, const Named& named) const;
  // Has the stream got a kernel after `tick` whose memory is known by its arguments?
  bool kernel_behind(Slot stream, Tick tick) const { return last_[stream].kernel > tick; }
  void note(Slot stream, Tick tick, const Named& named);

  void reset();

 private:
  Name take();

  struct Last {
    Tick any, anything, kernel;
    Tick read[kMaximumNames], written[kMaximumNames];
  };
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
