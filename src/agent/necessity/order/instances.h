// Live instances of synchronizations, and which of them owns which work (DESIGN.md, section 7).
// In: what each synchronization covers, and the uses of its data. Out: one VerdictRecord an instance.
//
// A range belongs to the latest synchronization that covers the work which wrote it. So nothing is handed
// over range by range: each stream keeps the synchronizations that are still the latest for some of its work,
// and the owner is looked up when the use happens. For one stream, oldest first:
//
//   claims   S1 up to tick 9     S3 up to tick 5      (S2, up to tick 4, came before S3 and owns nothing any
//   more) owner of tick 7: S1          owner of tick 3: S3
//
// A claim is certain or doubtful. A certain one takes over from all earlier claims that reach no further. A
// doubtful one (the synchronization may have covered this work) takes nothing over: a use then counts for it
// and for the owner. An instance without claims owns nothing any more: its verdict is final.
//
// An instance that is needed, and cannot be moved, stays where it is; so what it covers for certain is
// settled: nothing that happens later needs another wait for it. One that can be moved settles nothing:
// people may find a first use later than the one that was seen (memory that the work only could have
// written). But other work that starts behind that use, and would need a wait that nothing else needs, leans
// on the one that is needed anyway, which then stays, if it was used at once: from there nothing moves it.
//
// What was taken over from an instance is still covered by it. So where it turns out to be needed later, for
// what it still owns in another stream, that is settled too: `passed` keeps the last few of them. And of
// several instances that one piece of work could lean on, the oldest comes first: it may settle the others'
// part.
//
// Two threads that wait at the same time for the same work: neither leans on the other, whichever ends last.
// Only the first touch is seen, and not who else would have come, so both count as needed.
//
// A successful query (cuEventQuery) makes no claim. It proves that work is done, but a program that would
// have acted on 'not ready' differently (the host allocators of frameworks ask so) did not rely on it for
// this use. Serialised by the collector's lock.
#pragma once
#include <cstdint>

#include "agent/call.h"
#include "agent/guard/guards.h"
#include "agent/necessity/order/named_memory.h"
#include "agent/necessity/order/order.h"

namespace diogenes::agent {

using InstanceIndex = uint16_t;
inline constexpr InstanceIndex kNoInstance = 0xffff;
inline constexpr int kMaximumInstances = 4096;
inline constexpr int kMaximumClaims = 16;   // of one stream
inline constexpr int kMaximumPassed = 8;    // of one stream
inline constexpr int kMaximumRanges = 8;    // small ones, of one instance
inline constexpr int64_t kAtOnce = 10'000;  // ns from a wait's end to its first use, in a run with guards

struct Use {
  uint32_t reason = 0;
  int64_t at = 0;
  uint64_t address = 0;
  uint32_t stack = kNoStack;
};

// A small range in one of several runs (trace/format.h, WatchedRecord).
struct WatchedRange {
  uint64_t range;
  uint8_t part, parts, registers;
  bool seen;
};

// What a touch means for the owner. 0: nothing was used.
uint32_t reason_of(const Touch& touch, Protection protection);

class Instances {
 public:
  // kNoInstance: no room; it stays without a verdict, which counts as needed, and must claim nothing.
  // `recorded`: its verdict is wanted (stage 4: planned sites only).
  // `settles`: that it counts as needed here means that it stays in the program.
  InstanceIndex open(OperationId id, Nanoseconds begin, Nanoseconds end, bool recorded, bool counted,
                     bool settles);
  // `wrote`: some of what this claims may have written memory that kernels can reach.
  void claim(Slot stream, Tick up_to, InstanceIndex instance, bool certain, bool wrote, uint32_t sequence);
  // When the program goes on behind it; open()'s `end` until then. Nothing happens where it is closed
  // already.
  void returned(InstanceIndex instance, OperationId id, Nanoseconds at);
  // All claims are made: closes it if it got none.
  void opened(InstanceIndex instance);

  // How much of the stream the host knows to be done.
  Tick known(Slot stream) const { return streams_[stream].known; }
  bool has_claims(Slot stream) const { return streams_[stream].count > 0; }

  void credit(InstanceIndex instance, uint32_t reason);
  // It hangs on this range. Of several such ranges of one name, what was watched of one was not of the other.
  void hangs_on(InstanceIndex instance, const WatchedRange& range);
  void owners_hang_on(Slot stream, Tick tick, const WatchedRange& range);
  // Further runs say what they watched of every instance.
  void tell_all_ranges(bool all) { tell_all_ranges_ = all; }
  void rest_on(InstanceIndex instance, Condition condition) { instances_[instance].conditions |= condition; }
  // The owner of the stream's work at `tick`, and whoever may own it. False: nobody does yet.
  bool credit_owners(Slot stream, Tick tick, const Use& use);
  // Only those who may: from `tick` on, or that claim writes since `sequence`.
  void credit_doubtful(Slot stream, Tick tick, const Use& use);
  void credit_doubtful_writers(uint32_t since, const Use& use, int width);

  // Clause 3: work that names `named` is about to start in `stream`, ordered by the GPU after `clock`.
  // Whoever told the host of more than that is what orders the two, if they may not run at the same time;
  // `clock` then holds that knowledge too. If they may, because of what the kernels' arguments name, that is
  // a condition, and the two stay without order: later work may need it.
  void order(Slot stream, Clock& clock, int width, const Named& named, const NamedMemory& memory);
  // The slot gets another stream. False: not yet, some of its work is not known to be done.
  bool settle(Slot stream, Tick ticks);

  // The process ends: all verdicts as they stand.
  void close_all(int width);
  void reset();

 private:
  struct Instance {
    OperationId id;
    uint32_t reasons;
    Nanoseconds begin, end;
    Use first;
    uint16_t claims, passed;
    uint8_t conditions;
    bool recorded, counted, settles, stays, used;
    uint8_t range_count;
    WatchedRange ranges[kMaximumRanges];
  };
  struct Claim {
    Tick from, tick;  // from: what was known already
    uint32_t sequence;
    InstanceIndex instance;
    bool certain, wrote;
  };
  // A certain claim of an instance that is still open, taken over by a later one.
  struct Passed {
    Tick tick;
    InstanceIndex instance;
  };
  struct StreamClaims {
    Tick known, settled;
    Tick used;  // covered by an instance that was used since, and can be moved: `used_by`
    OperationId used_by;
    uint8_t count, passed_count;
    Claim claims[kMaximumClaims];
    Passed passed[kMaximumPassed];  // the oldest first
  };

  void use(InstanceIndex instance, const Use& use);
  // Where it is: what it covers is settled.
  void stays(InstanceIndex instance);
  // It is needed for a use at once: what it covers may be leaned on.
  void was_used(InstanceIndex instance);
  // Instead of an owner that nothing needs: the stream's instance that was used. False: there is none, or the
  // owner is needed anyway.
  bool lean_on_used(StreamClaims& stream, Tick tick);
  bool overlap(InstanceIndex one, InstanceIndex other) const;
  // Of all certain claims of the instance, those that were taken over among them: visit(stream, tick).
  template <typename Visit>
  void for_each_covered(InstanceIndex instance, Visit visit);
  void pass_on(StreamClaims& stream, const Claim& claim);
  void forget_passed(StreamClaims& stream, int position);
  // Which certain instance owns the stream's work at `tick`: the sequence of its claim; none: behind all.
  uint32_t owner_sequence(const StreamClaims& stream, Tick tick) const;
  // ... whatever `stream` did after `ordered` and may not run at the same time.
  void lean(Slot stream, Tick ordered, Clock& clock, const Named& named, const NamedMemory& memory);
  // Up to where the certain owner of the stream's work at `tick` settles it; 0: it has none that stays.
  Tick settled_with(Slot stream, Tick tick) const;
  template <typename Visit>
  bool for_each_owner(Slot stream, Tick tick, Visit visit);
  void tell_ranges(const Instance& instance);
  void drop_claim(StreamClaims& stream, int position);
  void close(InstanceIndex instance);

  Instance instances_[kMaximumInstances];
  InstanceIndex free_[kMaximumInstances];
  int free_count_, fresh_;
  bool tell_all_ranges_;
  StreamClaims streams_[kMaximumStreams];
};

}  // namespace diogenes::agent
