#include "agent/necessity/order/instances.h"

#include <algorithm>

#include "agent/recorder.h"

namespace diogenes::agent {

uint32_t reason_of(const Touch& touch, Protection protection) {
  switch (touch.by) {
    case TouchBy::nobody:
      return 0;
    case TouchBy::gone:
      // Nobody misses the data. But what the GPU still read must stay until it is done with it.
      return protection == Protection::read_only ? kSourceReuse | kSystemCall : 0;
    case TouchBy::program:
      return protection == Protection::read_only ? kSourceReuse : kCpuAccess;
    case TouchBy::driver:
      return kDriverAccess;
    case TouchBy::system_call:
      return kSystemCall;
    case TouchBy::displaced:
      return kSmallRange;
    case TouchBy::exposed:
    case TouchBy::given_up:
      return kExposed;
  }
  return kExposed;
}

InstanceIndex Instances::open(OperationId id, Nanoseconds begin, Nanoseconds end, bool recorded, bool counted,
                              bool settles) {
  InstanceIndex index;
  if (free_count_ > 0) {
    index = free_[--free_count_];
  } else if (fresh_ < kMaximumInstances) {
    index = static_cast<InstanceIndex>(fresh_++);
  } else {
    count_drop(Drop::objects_full);
    return kNoInstance;
  }
  Instance& instance = instances_[index];
  instance = {};
  instance.id = id;
  instance.begin = begin;
  instance.end = end;
  instance.recorded = recorded;
  instance.counted = counted;
  instance.settles = settles;
  instance.claims = 1;  // held until opened()
  return index;
}

void Instances::returned(InstanceIndex index, OperationId id, Nanoseconds at) {
  Instance& instance = instances_[index];
  if (instance.id.thread == id.thread && instance.id.sequence == id.sequence) instance.end = at;
}

void Instances::opened(InstanceIndex instance) {
  if (instances_[instance].stays) stays(instance);
  if (--instances_[instance].claims == 0) close(instance);
}

bool Instances::overlap(InstanceIndex one, InstanceIndex other) const {
  const Instance &first = instances_[one], &second = instances_[other];
  return first.id.thread != second.id.thread && first.end > second.begin && second.end > first.begin;
}

template <typename Visit>
void Instances::for_each_covered(InstanceIndex index, Visit visit) {
  for (StreamClaims& stream : streams_) {
    for (int i = 0; i < stream.count; ++i)
      if (const Claim& claim = stream.claims[i]; claim.instance == index && claim.certain)
        visit(stream, claim.tick);
    for (int i = 0; i < stream.passed_count; ++i)
      if (stream.passed[i].instance == index) visit(stream, stream.passed[i].tick);
  }
}

void Instances::stays(InstanceIndex index) {
  if (!instances_[index].settles) return;
  instances_[index].stays = true;
  for_each_covered(index,
                   [](StreamClaims& stream, Tick tick) { stream.settled = std::max(stream.settled, tick); });
}

void Instances::was_used(InstanceIndex index) {
  if (!instances_[index].settles) return;
  for_each_covered(index, [&](StreamClaims& stream, Tick tick) {
    if (tick <= stream.used) return;
    stream.used = tick;
    stream.used_by = instances_[index].id;
  });
}

bool Instances::lean_on_used(StreamClaims& stream, Tick tick) {
  if (tick > stream.used) return false;
  for (int i = stream.count; i-- > 0;) {
    const Claim& claim = stream.claims[i];
    if (claim.tick < tick || !claim.certain) continue;
    if (instances_[claim.instance].reasons != 0) return false;
    break;
  }
  // Its verdict may be written: this one is added to it.
  VerdictRecord more{};
  more.type = RecordType::verdict;
  more.thread = stream.used_by.thread;
  more.sequence = stream.used_by.sequence;
  more.reasons = kOrder;
  more.use_stack = kNoStack;
  more.after_ns = -1;
  append(more);
  stream.settled = std::max(stream.settled, stream.used);
  return true;
}

void Instances::claim(Slot slot, Tick up_to, InstanceIndex instance, bool certain, bool wrote,
                      uint32_t sequence) {
  if (up_to == 0) return;
  StreamClaims& stream = streams_[slot];
  Tick from = stream.known;
  for (int i = 0; i < stream.count; ++i) {
    const Claim& other = stream.claims[i];
    if (other.instance == instance || other.from >= other.tick || other.from >= up_to ||
        !overlap(other.instance, instance))
      continue;
    credit(other.instance, kConcurrentWait);
    credit(instance, kConcurrentWait);
  }
  if (certain) {
    for (int i = stream.count; i-- > 0;) {
      if (stream.claims[i].tick > up_to) continue;
      const Claim passed = stream.claims[i];
      drop_claim(stream, i);
      if (passed.certain && passed.instance != instance) pass_on(stream, passed);
    }
    if (stream.known < up_to) stream.known = up_to;
  }
  if (stream.count == kMaximumClaims) {
    // No room: the oldest counts as needed. It stays in the program, so what it owned stays ordered.
    credit(stream.claims[0].instance, kUndecoded);
    drop_claim(stream, 0);
    count_drop(Drop::objects_full);
  }
  ++instances_[instance].claims;
  stream.claims[stream.count++] = {from, up_to, sequence, instance, certain, wrote};
}

void Instances::pass_on(StreamClaims& stream, const Claim& claim) {
  Instance& owner = instances_[claim.instance];
  if (owner.claims == 0 || !owner.settles || owner.stays) return;  // closed, or settled already
  if (stream.passed_count == kMaximumPassed) forget_passed(stream, 0);
  ++owner.passed;
  stream.passed[stream.passed_count++] = {claim.tick, claim.instance};
}

void Instances::forget_passed(StreamClaims& stream, int position) {
  --instances_[stream.passed[position].instance].passed;
  for (int i = position + 1; i < stream.passed_count; ++i) stream.passed[i - 1] = stream.passed[i];
  --stream.passed_count;
}

void Instances::drop_claim(StreamClaims& stream, int position) {
  InstanceIndex instance = stream.claims[position].instance;
  for (int i = position + 1; i < stream.count; ++i) stream.claims[i - 1] = stream.claims[i];
  --stream.count;
  if (--instances_[instance].claims == 0) close(instance);
}

void Instances::credit(InstanceIndex instance, uint32_t reason) {
  if (instance == kNoInstance || reason == 0) return;
  instances_[instance].reasons |= reason;
  if (!instances_[instance].stays && (reason & ~(kMovableReasons | kNotWhole))) stays(instance);
}

void Instances::hangs_on(InstanceIndex index, const WatchedRange& range) {
  if (index == kNoInstance) return;
  Instance& instance = instances_[index];
  if (!range.seen || range.parts > 1) credit(index, kNotWhole);
  for (WatchedRange* known = instance.ranges; known < instance.ranges + instance.range_count; ++known) {
    if (known->range != range.range) continue;
    known->seen &= range.seen && known->part == range.part;
    return;
  }
  if (instance.range_count == kMaximumRanges)
    credit(index, kSmallRange);
  else
    instance.ranges[instance.range_count++] = range;
}

// The owner of the stream's work at `tick`, and whoever may own it. False: nobody does yet.
template <typename Visit>
bool Instances::for_each_owner(Slot slot, Tick tick, Visit visit) {
  StreamClaims& stream = streams_[slot];
  bool owned = false;
  for (int i = stream.count; i-- > 0;) {
    const Claim& claim = stream.claims[i];
    if (claim.tick < tick) continue;
    // Of settled work only the times of first uses are still of interest.
    if (tick > stream.settled || instances_[claim.instance].reasons != 0) visit(claim.instance);
    owned = true;
    if (claim.certain) break;
  }
  return owned;
}

void Instances::owners_hang_on(Slot slot, Tick tick, const WatchedRange& range) {
  for_each_owner(slot, tick, [&](InstanceIndex owner) { hangs_on(owner, range); });
}

void Instances::use(InstanceIndex index, const Use& use) {
  if (use.reason == 0) return;
  Instance& instance = instances_[index];
  credit(index, use.reason);
  if (use.at == 0 || (instance.used && instance.first.at <= use.at)) return;
  bool first = !instance.used;
  instance.used = true;
  instance.first = use;
  if (first && use.at - instance.end.count <= kAtOnce) was_used(index);
}

bool Instances::credit_owners(Slot slot, Tick tick, const Use& the_use) {
  return for_each_owner(slot, tick, [&](InstanceIndex owner) { use(owner, the_use); });
}

void Instances::credit_doubtful(Slot slot, Tick tick, const Use& the_use) {
  StreamClaims& stream = streams_[slot];
  for (int i = 0; i < stream.count; ++i)
    if (!stream.claims[i].certain && stream.claims[i].tick >= tick) use(stream.claims[i].instance, the_use);
}

void Instances::credit_doubtful_writers(uint32_t since, const Use& the_use, int width) {
  for (int slot = 0; slot < width; ++slot) {
    StreamClaims& stream = streams_[slot];
    for (int i = 0; i < stream.count; ++i) {
      const Claim& claim = stream.claims[i];
      if (!claim.certain && claim.wrote && claim.sequence > since) use(claim.instance, the_use);
    }
  }
}

Tick Instances::settled_with(Slot slot, Tick tick) const {
  const StreamClaims& stream = streams_[slot];
  for (int i = stream.count; i-- > 0;)
    if (const Claim& claim = stream.claims[i]; claim.certain && claim.tick >= tick)
      return instances_[claim.instance].stays ? claim.tick : 0;
  return 0;
}

void Instances::order(Slot slot, Clock& clock, int width, const Named& named, const NamedMemory& memory) {
  Slot waiting[kMaximumStreams];  // streams with work that another wait orders before this
  int count = 0;
  for (int i = 0; i < width; ++i) {
    Slot other = static_cast<Slot>(i);
    StreamClaims& stream = streams_[other];
    if (other == slot || stream.count == 0) continue;
    clock.raise(other, stream.settled);
    Tick ordered = clock[other], covered = 0;
    for (int c = 0; c < stream.count; ++c)
      if (stream.claims[c].tick > covered) covered = stream.claims[c].tick;
    if (covered <= ordered) continue;  // the rule: nobody's wait orders more than the GPU does
    if (memory.latest_conflict(other, named, covered) <= ordered) {
      if (!memory.rests_on_arguments(other, ordered, named)) continue;
      for (int c = 0; c < stream.count; ++c)
        if (stream.claims[c].tick > ordered)
          instances_[stream.claims[c].instance].conditions |= kConditionArguments;
      continue;
    }
    waiting[count++] = other;
  }
  // Of what the oldest owner covers, a part may be a later owner's.
  while (count > 0) {
    int next = 0;
    uint32_t oldest = 0;
    for (int i = 0; i < count; ++i) {
      const StreamClaims& stream = streams_[waiting[i]];
      const uint32_t sequence =
          owner_sequence(stream, memory.latest_conflict(waiting[i], named, stream.known));
      if (i > 0 && sequence >= oldest) continue;
      next = i, oldest = sequence;
    }
    const Slot other = waiting[next];
    waiting[next] = waiting[--count];
    lean(other, clock[other], clock, named, memory);
  }
}

uint32_t Instances::owner_sequence(const StreamClaims& stream, Tick tick) const {
  for (int i = stream.count; i-- > 0;)
    if (stream.claims[i].certain && stream.claims[i].tick >= tick) return stream.claims[i].sequence;
  return ~0u;
}

void Instances::lean(Slot slot, Tick ordered, Clock& clock, const Named& named, const NamedMemory& memory) {
  StreamClaims& stream = streams_[slot];
  const Use by_order{.reason = kOrder};
  clock.raise(slot, stream.settled);
  const Tick conflict = memory.latest_conflict(slot, named, stream.known);
  if (conflict > clock[slot] && lean_on_used(stream, conflict)) clock.raise(slot, stream.settled);
  if (conflict > clock[slot]) {
    for (int i = stream.count; i-- > 0;)
      if (const Claim& claim = stream.claims[i]; claim.certain && claim.tick >= conflict) {
        use(claim.instance, by_order);
        break;
      }
    // All that an owner covers is done, if it stays. In runs behind the first of stage 3 none does: whether
    // it is needed for this order the first run says, and what it owns must not pass to this work's wait.
    clock.raise(slot, settled_with(slot, conflict));
  }
  // What the host knows for certain needs no doubtful claim. A doubtful one orders nothing that later
  // synchronizations could lean on.
  const Tick sure = std::max(ordered, stream.known);
  for (int i = 0; i < stream.count; ++i)
    if (const Claim& claim = stream.claims[i];
        !claim.certain && memory.latest_conflict(slot, named, claim.tick) > sure)
      use(claim.instance, by_order);
}

bool Instances::settle(Slot slot, Tick ticks) {
  StreamClaims& stream = streams_[slot];
  if (stream.known < ticks) return false;
  for (int i = 0; i < stream.count; ++i) credit(stream.claims[i].instance, kOrder);
  return true;
}

// Before the verdict: where recording ends, a verdict that is there has them.
void Instances::tell_ranges(const Instance& instance) {
  if (!tell_all_ranges_ && !(instance.reasons & kNotWhole)) return;
  for (int i = 0; i < instance.range_count; ++i) {
    const WatchedRange& range = instance.ranges[i];
    WatchedRecord watched{};
    watched.type = RecordType::watched;
    watched.thread = instance.id.thread;
    watched.sequence = instance.id.sequence;
    watched.range = range.range;
    watched.part = range.part;
    watched.parts = range.parts;
    watched.registers = range.registers;
    watched.seen = range.seen;
    append(watched);
  }
}

void Instances::close(InstanceIndex index) {
  Instance& instance = instances_[index];
  free_[free_count_++] = index;
  for (StreamClaims* stream = streams_; instance.passed > 0; ++stream)
    for (int i = stream->passed_count; i-- > 0;)
      if (stream->passed[i].instance == index) forget_passed(*stream, i);
  if (!instance.recorded) return;
  tell_ranges(instance);
  VerdictRecord record{};
  record.type = RecordType::verdict;
  record.thread = instance.id.thread;
  record.sequence = instance.id.sequence;
  record.reasons = instance.reasons;
  record.conditions = instance.conditions;
  record.use_stack = instance.used ? instance.first.stack : kNoStack;
  record.after_ns = -1;
  if (instance.used) {
    // A touch by another thread may precede the end of a doubtful owner's wait.
    int64_t after = instance.first.at - instance.end.count;
    record.after_ns = after < 0 ? 0 : after;
    record.address = instance.first.address;
  }
  append(record);
  if (instance.counted && (instance.reasons & kUnwatchedReasons))
    count_unwatched(instance.reasons & kUnwatchedReasons);
}

void Instances::close_all(int width) {
  for (int slot = 0; slot < width; ++slot)
    while (streams_[slot].count > 0) drop_claim(streams_[slot], streams_[slot].count - 1);
}

void Instances::reset() {
  for (auto& stream : streams_) stream = {};
  free_count_ = fresh_ = 0;
}

}  // namespace diogenes::agent
