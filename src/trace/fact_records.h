// The records of facts, stages 3 and 4: what happened in the program. What follows from it is judged in the
// analysis. Part of the on-disk format (format.h, which also says what stands in brackets).
#pragma once
#include <cstdint>

#include "trace/format.h"

namespace diogenes {

// One range of memory that a call's GPU work, or the call itself, reads or writes. Lists of operands are
// interned in the file `operands`: FileHeader, then OperandListHeader with its operands, again and again; an
// OperandListIndex is the list's offset in the file in 8-byte words. As with stacks, `count` is written last.
enum OperandFlag : uint8_t {
  kReads = 1,
  kWrites = 2,
  kWhole = 4,     // writes every byte of the range, whatever it held: copies and fills of one row
  kArgument = 8,  // a whole allocation, because one of its addresses is in a kernel's arguments
  kByCall = 16,   // read or written by the CPU in the call itself, not by GPU work (staged pageable memory)
  kReached = 32,  // a whole allocation that a kernel may find its way to without being given it
};
struct OperandRecord {
  // [watching/facts -> necessity]
  uint64_t begin, bytes;
  uint8_t flags;  // OperandFlag
  MemoryKind kind;
  uint16_t reserved;
  uint32_t reserved2;
};
static_assert(sizeof(OperandRecord) == 24);

enum OperandListFlag : uint32_t {
  kAnyDevice = 1,      // may also read and write device memory that is not listed
  kAnyHost = 2,        // ... and memory that the host shares with the device (managed, mapped)
  kAnyPageable = 4,    // ... and any memory of the process (host functions, page tables shared with the CPU)
  kHasKernel = 8,      // a kernel is among the work: it reaches memory by the addresses that it is given
  kRunsOnHost = 16,    // a host function is among the work
  kWaitsForHost = 32,  // a wait for a value in memory is among the work
  kStartsEarly =
      64  // a kernel may begin before what its stream was given earlier is done (programmatic launch)
};
struct OperandListHeader {
  uint32_t count;  // + 1, so that 0 ends the file [watching/facts -> trace/reader]
  uint32_t flags;  // OperandListFlag [watching/facts -> necessity]
  // OperandRecord operands[count - 1];
};

enum CallFlag : uint8_t {
  kGivesWork = 1,       // GPU work was given to the operation's stream
  kUnlistedWork = 2,    // ... or work to streams that are not known
  kExternalEvent = 4,   // an event record whose event is waited for outside of this program's order
  kRecordsUnknown = 8,  // events may have been recorded out of sight (graphs, whole contexts)
  kMappedMemory = 16,   // an allocation that the device reaches at the host's address, or was told of
  kSharesMemory = 32,   // memory is shared with others from now on (IPC, exported handles, imported memory)
  kPrinted = 64,        // what kernels printed came out in this call
  kNotLookedAt = 128,   // --max-overhead was reached: no hash of what it carried, its host memory not watched
};

// Follows the OperationRecord of a call in stages 3 and 4, written when the program is about to go on.
struct CallRecord {
  // [watching/facts -> necessity]
  RecordType type;
  uint8_t flags;      // CallFlag [watching/facts -> runs, necessity]
  uint16_t context;   // number of the current context, from 1; 0: none or not known
  uint32_t operands;  // OperandListIndex; 0: none
  // From the operation's end until the program went on (recording, raising guards).
  uint32_t after_ns;  // [watching/facts -> runs, necessity]
  uint32_t stream2;   // of cuEventElapsedTime: number of the second event. Else 0
  uint64_t argument;  // a release's or registration's address; a context that ends: its number. Else 0
  // From when the program made the call until the operation's begin (recording, hashing).
  uint32_t before_ns;  // [watching/facts -> runs]
  uint32_t reserved;
};
static_assert(sizeof(CallRecord) == 32);

// A stream, when it is first named (created, or seen), before the call that names it. Default streams have a
// number of their own here for each context and thread: operations name them by kLegacyStream and
// kPerThreadStream, their CallRecord's context, and their thread.
enum StreamFlag : uint8_t {
  kBlockingStream = 1,   // ordered with the legacy default stream of its context
  kCertainStream = 2,    // context and flags are known for sure
  kReadsPageTables = 4,  // its device reads pageable memory through the CPU's page tables
};
struct StreamRecord {
  // [watching/facts -> necessity]
  RecordType type;
  uint8_t flags;     // StreamFlag
  uint16_t context;  // number; 0: not known
  uint32_t stream;   // kLegacyStream, kPerThreadStream (of this thread), or a number
  uint64_t reserved[3];
};
static_assert(sizeof(StreamRecord) == 32);

enum class WatchProtection : uint8_t { no_access, read_only };
enum class WatchRefusal : uint8_t {
  none,                // the range is watched from now on
  small,               // smaller than a page, and no watchpoint for it
  limit,               // no more guards, or mprotect failed
  shared_memory,       // other processes reach it
  stack,               // a thread may run on it
  page_tables,         // the device reads it through the CPU's page tables
  unknown_memory,      // where it lies for the CPU is not known
  no_guards,           // this process cannot be guarded
  often,               // it fell four times for one piece of work: from now on it stands open
  not_looked_at = 10,  // --max-overhead was reached
};

// From `at_ns` on the range is watched: the first touch of it by anybody ends the watch, and is recorded. Or
// it is not (refusal): whoever can have come by may have touched it. Written by whoever raised it.
struct WatchRecord {
  // [watching/guard -> necessity]
  RecordType type;
  WatchProtection protection;  // read_only: only writing is a touch
  WatchRefusal refusal;
  uint8_t reserved;
  uint32_t watch;  // number, from 1, in order of raising; 0: refused
  uint64_t begin, bytes;
  int64_t at_ns;
};
static_assert(sizeof(WatchRecord) == 32);

enum class Toucher : uint8_t {
  program,        // an instruction of the program or of a library
  driver,         // an instruction of the driver's, or on a thread inside a driver call
  system_call,    // a system call was given the range
  unseen,         // it stood open for a while: it may have been touched by anybody
  host_function,  // an instruction of the program or of a library, on a thread of the driver's: between its
                  // host functions this thread runs none of the program's code
};
enum class Touching : uint8_t { unknown, reads, writes };

// A watched range was touched; the watch has ended. Written by the touching thread where it can, and by
// another later where it could not (`late`).
struct TouchRecord {
  // [watching/guard -> necessity]
  RecordType type;
  Toucher by;
  Touching access;
  uint8_t late;           // 1: of another thread, or of an earlier time than the records before it
  uint32_t watch;         // number
  int64_t at_ns;          // when the memory was there to be touched
  uint64_t address : 48;  // first byte touched, inside the range
  uint64_t held_us : 16;  // so long before `at_ns` the toucher had come, and was held by us
  uint32_t stack;         // of the touching code; kNoStack: none
  uint32_t thread;        // late: the toucher's thread file, or 0xffffffff: it has none, or is not known
};
static_assert(sizeof(TouchRecord) == 32);

enum class WatchEnd : uint8_t {
  lowered,   // by the agent: the driver is about to use the memory, or it is watched anew. Untouched
  released,  // its memory went: munmap, free, madvise, the end of its stack frame. Untouched
  given_up,  // the agent had to let go (fork, exec, an unknown system call): it may be touched unseen
};
// A watch ended without a touch.
struct UnwatchRecord {
  // [watching/guard -> necessity]
  RecordType type;
  WatchEnd why;
  uint8_t reserved[2];
  uint32_t watch;
  int64_t at_ns;
  uint64_t reserved2[2];
};
static_assert(sizeof(UnwatchRecord) == 32);

enum class MemoryEvent : uint8_t {
  released,   // free, munmap, MAP_FIXED, madvise that destroys: what it held is gone
  moved,      // mremap, realloc: what it held lives on elsewhere
  read,       // by a system call or another process
  inherited,  // fork: the child reads it
};
// Memory that GPU work was given to was released or used by other means than touching it. Written once the
// release has succeeded.
struct MemoryEventRecord {
  // [watching/facts -> necessity]
  RecordType type;
  MemoryEvent event;
  uint8_t reserved[2];
  uint32_t stack;
  uint64_t begin, bytes;
  int64_t at_ns;
};
static_assert(sizeof(MemoryEventRecord) == 32);

enum class OrderObject : uint8_t {
  mutex,
  read_write_lock,
  condition,
  semaphore,
  barrier,
  thread_start,  // object: the new thread's number, told by its maker
  thread_end,    // join
  futex,
  asleep_at_end,  // no order: `thread` has been asleep since `address` (CLOCK_MONOTONIC) when the process
                  // ends
};
enum OrderFlag : uint8_t {
  kAcquires = 1,  // else it releases
  kForced = 2,   // the acquiring side could not have gone on without this very release (start, join, barrier)
  kBlocked = 4,  // the acquiring side was asleep: `blocked_us` holds
  kShared = 8,   // read lock
  kNotSeen =
      16,  // used unseen, or more often than is recorded, or released by several: nothing follows for certain
  kNamesRelease =
      32,  // stage 2, acquires: `address` is when `thread` released the object (CLOCK_MONOTONIC), and there
           // is no record of that
};
// One thread let another go on. In stage 2 for the times (agent/watching/order/hand_overs.h), else for the order: a release is
// written before it takes effect, an acquire after it has. Which are left out: agent/watching/order/order_records.h. Releases
// that are not recorded are counted in `sequence` all the same. Starts of threads and joins are recorded always, once the
// driver was used; the start of one of many threads only in its maker's file. An acquire follows every release of the
// object with a sequence up to its own; where one thread alone releases a semaphore or condition (by the records, and
// without kNotSeen), that is so in every run.
struct OrderRecord {
  // [watching/order -> necessity, replay, runs/decisions]
  RecordType type;
  OrderObject object;
  uint8_t flags;  // OrderFlag
  uint8_t reserved;
  uint32_t sequence;  // of the releases on the object, from 1; of an acquire: the last that it follows. 0:
                      // none was seen (a join: the thread had nothing to record, and has ended)
  int64_t at_ns;
  uint64_t address;     // of the object, or a thread's number
  uint32_t blocked_us;  // before an acquire
  uint32_t thread;  // of a release: its thread file; of an acquire: that of the last recorded release that it
                    // follows; 0xffffffff: not known
};
static_assert(sizeof(OrderRecord) == 32);

// This process has read or written memory by its process's id (process_vm_readv, process_vm_writev), or has opened a file by
// which it can. Written by the one that did, with CUDA or without, when the call is back; judged in the process of that id on
// the same host.
struct PeerAccessRecord {
  static constexpr int32_t kEveryProcess = -1;
  // [watching/peer_memory -> runs/peer_accesses]
  RecordType type;
  Touching access;
  uint8_t reserved[2];
  int32_t process;  // whose memory it is; may be this one; kEveryProcess: a file /proc/PID/mem was opened
  uint64_t begin,
      bytes;  // bytes 0 of this process: it has opened a device that moves its memory unseen (RDMA)
  int64_t at_ns;
};
static_assert(sizeof(PeerAccessRecord) == 32);

// What became of a value behind its first touch: the first consequence that it had, or where it was not followed
// further.
enum class ValueUse : uint8_t {
  branch,       // a branch, or a choice between two values, depends on it
  address,      // a place in memory is found with it
  system_call,  // a system call is given it
  driver,       // a call into the driver is given it
  nothing,      // every copy that was followed was overwritten
  // Not followed further:
  window,       // the number of instructions was reached
  untouched,    // a copy was watched until the process ended, and nobody touched it
  handler,      // a signal handler of the program's, or a jump out of a call
  thread_end,   // the thread ended, made another one, or blocked all signals
  instruction,  // one that is not known, or that must not be single-stepped
  room,         // more copies than are kept
};
inline constexpr ValueUse kLastValueUse = ValueUse::room;
enum ValueFlag : uint8_t {
  kValueCopied = 1,     // to other memory
  kValueConverted = 2,  // from one type to another
  kValueComputed = 4,   // arithmetic with it, whose result was followed on
  kValueWatched = 8,    // a copy of it was watched until it was touched again
  kValueElsewhere = 16  // other copies of it, or the touched memory itself, were not watched meanwhile
};
// Of one touch whose value was followed. Stage sync_use. In the file of any thread of the process.
struct ValueRecord {
  // [src/values -> findings/followed_values]
  RecordType type;
  ValueUse use;
  uint8_t flags;  // ValueFlag
  uint8_t reserved;
  uint32_t touch_stack;  // TouchRecord::stack
  int64_t touched_ns;    // when the toucher came: TouchRecord::at_ns less held_us
  int64_t at_ns;         // of the use, or when following ended
  uint32_t stack;        // of the use; kNoStack: none
  uint32_t steps;        // instructions that were followed [src/values -> nobody]
};
static_assert(sizeof(ValueRecord) == 32);

}  // namespace diogenes
