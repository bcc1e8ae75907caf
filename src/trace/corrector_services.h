// Who corrects waits inside the program (`diogenes prove`): a table of functions. src/corrector makes one; it and the agent
// that serves it (src/agent/proving) are the library libdiogenes-prove.so, which takes the agent's place in these runs.
//
// A wait that is corrected is *deferred*: the driver's function is not called, the GPU itself writes a mark where the wait
// would have ended, and the host memory that the wait protects is guarded. Whoever touches it first waits for the mark. So
// each path through the program sees what it saw before, also those that no measured run took.
#pragma once
#include "driver/catalogue.h"
#include "ffm/plan.h"

namespace diogenes {

// Of a deferred wait, from 1; 0: none.
using Deferral = uint32_t;

// Why a wait was not deferred.
enum class Undeferred : uint8_t {
  none,
  small,           // results share their page with other data
  unguarded,       // a guard was refused
  unknown_memory,  // what the GPU writes for the host is not known, or it lies where nothing can be guarded
  host_work,       // the GPU's work waits for the CPU, or runs the program's code
  shared,        // several threads, and memory that kernels and the host share: one may have to see it before
  unknown_work,  // which streams there is work in is not known, or too many
  capturing,     // streams are being captured
  no_mark,       // this driver does not write marks
  unknown_block,  // a release: of memory whose allocation was not seen
  pool_full,      // as much memory as may be is kept already
  threads,        // the plan leaves them as they are
  was_needed,     // what one of the site's deferred waits protects was used, though nothing was to need it
  form,  // a copy: of several rows, to or from other than the device's memory, or pinned and not waiting; a fill: of several
         // rows, or of the device's memory, for which nobody waits
  count,
};

// cuMemAlloc.
constexpr bool allocates_device_memory(const DriverFunction& driver) {
  return driver.role == Role::allocate && driver.arguments == Arguments::allocate &&
         driver.stream_argument < 0 && !driver.has(Trait::pinned) && !driver.has(Trait::managed);
}

// Calls that a plan may name.
constexpr bool is_corrected(const DriverFunction& driver) {
  return driver.role == Role::synchronize || driver.role == Role::transfer || driver.role == Role::fill ||
         releases_device_memory(driver) || allocates_device_memory(driver);
}

// A call as the program makes it.
struct CorrectedCall {
  const DriverFunction* driver;
  uint16_t function;
  const uint64_t* registers;  // of the integer arguments, six
  const uint64_t* on_stack;   // the arguments behind them
  uint64_t stream;            // its handle; 0: a default one
  bool names_stream;          // the call says which
  bool per_thread;            // a null stream is the thread's own
  bool capturing;             // into a graph
  bool threads;   // the program has several, or may be interrupted where the plan leaves those as they are
  uint64_t site;  // native_site_key(); 0: the plan names no such function, or its stack is not known
  int64_t entered_ns;    // when the program made it: CLOCK_MONOTONIC
  const void* of_agent;  // for `guard`
};

// A copy between the device's memory and the host's, of one row; or a fill of the host's.
struct CorrectedTransfer {
  uint64_t host, device, bytes;  // of a fill: two addresses of the same memory
  bool to_host;
  bool staged;          // the host's side is pageable; else it is pinned, and the GPU reaches it by itself
  bool unwritten;       // no work that the GPU was given may still write the host's side
  uint8_t value_bytes;  // of a fill: 1, 2 or 4
  uint32_t value;       // its lowest bytes are set
};

// Of bytes on the host: a hash of 128 bits, and the value of 1, 2 or 4 bytes that they repeat.
struct TransferContent {
  uint64_t low = 0, high = 0;
  uint32_t value = 0;
  uint8_t value_bytes = 0;  // 0: they do not
};

// What the agent does for it. None may be called in a handler of the agent's but system_call and note_awaiting.
struct CorrectorServices {
  uintptr_t (*driver_symbol)(const char* name);  // 0: this driver does not have it
  long (*system_call)(long number, long a, long b, long c, long d, long e, long f);  // unseen by the guards
  // Guards all host memory that work was given to: whoever touches it awaits `deferral`.
  Undeferred (*guard)(Deferral deferral, const CorrectedCall& call);
  // Is there host memory that work was given to and that no wait has covered since?
  bool (*has_unguarded)();
  // What was deferred up to here is done: its memory needs no guard any more.
  void (*release)(Deferral last);
  bool (*copy)(void* to, const void* from, size_t bytes);  // false: a byte could not be read or written
  // `values`: do they repeat one?
  void (*content)(const void* from, uint64_t bytes, bool values, TransferContent* content);
  // The copy or fill that the call makes; none: it can be made without waiting. end_transfer() follows, once. `given`: the
  // GPU has it, and its host memory is what guard() guards next.
  Undeferred (*begin_transfer)(const CorrectedCall& call, CorrectedTransfer* transfer);
  void (*end_transfer)(const CorrectedCall& call, bool given);
  // Whole pages of a copy's source: from now on it is known whether somebody writes there. 0: that cannot be known.
  uint32_t (*watch_source)(uint64_t begin, uint64_t bytes);
  bool (*is_unwritten)(uint32_t watch);  // by anybody, since then
  void (*end_watch)(uint32_t watch);
  void (*pass_hooks)(int change);                       // +1: the calling thread's calls are ours, until -1
  bool (*note_awaiting)(bool awaits);                   // the calling thread, from now on; out: before
  void* (*map_file)(const char* name, uint64_t bytes);  // in the process's folder; null: it could not be
  const Plan* plan;
  const CorrectedSite* sites;  // of the plan
};

struct Corrector {
  void (*start)(const CorrectorServices& services);  // once, before the first call
  // Before the driver's function. True: it must not be called, and the call returns `*result`. Out: how long it waited for
  // the GPU, in ns.
  bool (*before)(const CorrectedCall& call, int32_t* result, int64_t* awaited);
  void (*after)(const CorrectedCall& call, bool succeeded);
  // Of a call that failed for want of memory, before after(). True: some was given back; it is made once more.
  bool (*make_room)(const CorrectedCall& call);
  // These may be called in a signal's handler, as note_guarding() may; await() under no lock of the agent's.
  bool (*done)(Deferral deferral);
  int64_t (*await)(Deferral deferral);  // how long it waited for the GPU, in ns
  // The program used what this wait surely protects, and has not waited since.
  void (*note_use)(Deferral deferral);
  // Our own cost, in ns: of a call at `site` that was not corrected; of guards: of a fault, the waiting left out, and of taking
  // them down behind a wait.
  void (*note_passed)(uint64_t site, uint16_t function, int64_t ns);
  void (*note_guarding)(int64_t ns);
  void (*finish)();  // orderly end: all that was deferred is awaited
  void (*forget)();  // in a forked child
  // A handler of the program's interrupted this thread in a hook while it waits, or in the driver, and is to make this call,
  // which nobody sees. `first`: its first argument. True: it gives the GPU work.
  bool (*before_unseen)(const DriverFunction& driver, uint64_t first);
};

extern const Corrector the_corrector;

}  // namespace diogenes
