// What one process did, in the judge's terms. The judge, the check, and the tests' exhaustive oracle read
// these events and nothing else; what CUDA means by a call (default streams, graphs, memory kinds, addresses
// that are given out again) is settled where they are made (interpret.h).
//
// Events come in the order of their times; those of one thread in its program order. A call is one
// `call_begin` and one `call_end` of its thread; what the call did lies between them, and two calls of
// different threads may overlap. "Given before a call" means: by an event that came before its `call_begin`.
// So of two calls that overlap, neither is believed to be before the other.
//
// Threads, streams, marks (CUDA events), memories and objects are numbered from 0 without gaps, in order of
// first sight, and a number is never used again: an address that is given out again is another memory.
// Source: docs/necessity.md.
#pragma once
#include <cstdint>
#include <span>

#include "analysis/runs/run.h"
#include "base/index.h"
#include "base/range.h"
#include "trace/fact_records.h"

namespace diogenes::necessity {

using ThreadNumber = Index<struct NecessityThreadTag>;
using StreamNumber = Index<struct NecessityStreamTag>;
using MarkNumber = Index<struct NecessityMarkTag>;      // a CUDA event
using MemoryNumber = Index<struct NecessityMemoryTag>;  // one allocation, from its making to its release
using ObjectNumber = Index<struct NecessityObjectTag>;  // a lock, a semaphore, a thread's start or end
using WatchNumber = Index<struct NecessityWatchTag>;

// One access of a piece of GPU work. A copy has two. `memory` invalid: any memory at all, of the device and
// of the host (work whose operands are not known).
struct Access {
  MemoryNumber memory;
  AddressRange range;
  bool writes = false;
  bool whole = false;     // writes every byte of the range: what it held before is gone
  bool on_host = false;   // the CPU can reach the range, so the CPU's accesses count, too
  bool argument = false;  // known by a kernel's arguments alone: a finding that rests on it says so
  bool pageable = true;   // memory that is not known: pageable memory may be among it
};

enum class EventKind : uint8_t {
  call_begin,   // thread, operation
  work,         // thread gives a piece of work to `stream`: accesses, streams (below), gate, blind
  record_mark,  // `mark` stands for all that was given to `stream` before the call; doubtful, marker
  wait_mark,    // work given to `stream` later is after `mark`
  covers,       // the call has waited: operation, site; streams or mark, own_work, may_cover, wait
  query,        // of `stream` or `mark`; succeeded. Covers what `covers` would
  uses_mark,    // the call fails unless `mark`, and with it its work, is complete
  allocates,    // `range` of `memory` came into being, and nothing has named it yet; on_host
  releases,     // `memory` (`range` of it) is released, reused or overwritten by other means; `deferrable`
  call_end,     // thread
  watch,        // watch, memory, range, read_only: from now on the range is watched
  touch,        // thread (invalid: not known), watch, writes, stack, address. The watch has ended
  unwatch,      // watch: ended without a touch. `lost`: it may be touched unseen from now on
  unwatched,    // memory, range: from now on it stands open although it should be watched; blind says why
  release,      // thread, object: what the thread knows is handed on
  acquire,      // thread, object, forced: the thread goes on because of the last releases of the object
  sleep,        // thread cannot touch anything from now on until its next event
  thread_ends,  // thread
  peer,         // memory, range, writes: another process reads or writes it, ordered with nothing here
  ends,         // the process ends orderly: what nobody touched by now is unused
  mark_ends,    // the CUDA event is destroyed: nothing names `mark` (and `marker`) from now on
  stream_ends,  // nothing names `stream` from now on, not even as one of all of a context
  // Of a window alone (windows/window_events.h):
  window_begins,  // what came before is not known. Nor is what comes behind the last event, unless that is `ends`
  knows           // thread, stream: it learned out of sight that all is done that was given to `stream`
};

// What a synchronization is, for the preference among several that order a pair.
struct Wait {
  bool changeable = true;  // false: the user cannot change it
  bool implicit = false;   // inside a release, a fill, a copy, a module's load
  bool documented = true;
  bool own_work =
      false;  // it waits for what the call itself does (context creation, a module's load): no verdict
};

enum class MayCover : uint8_t {
  nothing,
  streams,    // those of `may_streams`
  everything  // any stream
};

struct Event {
  EventKind kind{};
  ThreadNumber thread;
  int64_t at_ns = 0;    // CLOCK_MONOTONIC. Of call_end: when the program went on
  int64_t held_ns = 0;  // touch: so long before that it had come, and was held by the agent

  OperationId operation;  // call_begin, covers
  SiteIndex site;         // covers
  StreamNumber stream;
  // record_mark: the record is a piece of work itself. It comes in `stream`, and is counted in `marker`, a stream that holds
  // the records of this one event and nothing else. Invalid: nobody asks whether the record is complete.
  StreamNumber marker;
  MarkNumber mark;
  MemoryNumber memory;
  ObjectNumber object;
  WatchNumber watch;
  AddressRange range;    // inside `memory`, by address. work: the source of a copy that the call itself reads
  uint16_t context = 0;  // work: number of the context it was given in; 0: not known

  std::span<const Access> accesses;  // work; valid during the call that hands the event over
  // work: other streams of which the work is after all that was given to them before the call (default
  // streams). covers, query: all that was given to these before the call is done, and with it all that it was
  // ordered after.
  std::span<const StreamNumber> streams;
  std::span<const StreamNumber> may_streams;
  MayCover may_cover = MayCover::nothing;  // covers: beside what is certain
  bool covers_own_work = false;            // covers: the work that this same call gave is done, too
  Wait wait;

  uint32_t blind = 0;    // work: Reason bits of effects on the host that cannot be watched; 0: none
  bool gate = false;     // work: it may wait for the CPU (polls memory, waits for a value, runs on the host),
                         // and so may all that is ordered after it
  bool printed = false;  // covers: what kernels printed came out in this call
  bool doubtful = false;   // record_mark: it may stand for more
  bool succeeded = true;   // query
  bool read_only = false;  // watch: reading is no touch
  bool writes = false;     // touch, peer
  bool forced = false;     // acquire: it could not have gone on without releases of that object
  bool one_sender =
      false;          // acquire: whether it is forced rests on no other thread's having released that object
  bool past = false;  // work: done out of sight. `thread` stands for nobody, and touches nothing
  bool unclear = false;  // covers: it may have waited for more than is known
  bool last = false;     // release, acquire: nobody acquires that object later
  uint32_t sequence =
      0;  // release: which one of the object; acquire, forced: up to which one it could not do without
  bool lost = false;              // unwatch
  bool on_host = false;           // allocates
  bool lives_on = false;          // releases: used or overwritten, not released: the memory stays what it is
  bool in_reach = false;          // releases: the GPU still reaches it, whatever the program keeps there next
  bool deferrable = false;        // releases: a fix defers the release behind the work, so it is no use
  Toucher by = Toucher::program;  // touch
  uint32_t stack = kNoStack;      // touch, releases
  uint64_t address = 0;           // touch
};

// Takes events one by one.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void take(const Event& event) = 0;
};

// What is true of one synchronization. Times: from when the program went on behind it.
struct Verdict {
  OperationId operation;
  uint32_t reasons = 0;    // Reason bits; 0: not needed
  uint8_t conditions = 0;  // Condition bits: what 'not needed' rests on
  int64_t after_ns = -1;   // to the first use; -1: none, or not at a known time
  uint32_t use_stack = kNoStack;
  uint64_t address = 0;
};

}  // namespace diogenes::necessity
