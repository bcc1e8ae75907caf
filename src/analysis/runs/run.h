// One run of the program in memory: what a stage recorded, per process, thread and operation.
// In: a stage folder (trace/reader.h). Out: operations with the site they belong to, and in stages 3 and 4
// the evidence about each. Sites are shared by all runs of a session: the same driver function over the same
// stack has the same SiteIndex in every run (site_key.h). Times are taken as they are, made sane only
// where damage would overflow.
#pragma once
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "analysis/runs/evidence.h"
#include "analysis/runs/judgement.h"
#include "analysis/runs/peer_accesses.h"
#include "analysis/symbols/sites.h"
#include "base/units.h"
#include "driver/gpu_times_source.h"
#include "trace/reader.h"
#include "trace/windows.h"

namespace diogenes {

// What stages 3 and 4 know of one instance. `operation` names within the same process.
struct Evidence {
  uint32_t reasons = kUnresolved;  // Reason; 0: not needed
  uint32_t use_stack = kNoStack;
  int64_t after_ns = -1;
  OperationId first, lost_by;  // lost_by: what overwrote or released what is unused
  OperationId like;            // kConditionOneStream, of a copy: gave work to that stream
  Duplicate duplicate = Duplicate::none;
  Unused unused = Unused::no;
  Constant constant = Constant::no;
  uint8_t conditions = 0;      // Condition
  uint8_t unused_percent = 0;  // of the bytes that a copy to the host brought, where it is not all of them
  bool judged = false;         // there is a verdict
};

inline uint64_t key_of(OperationId id) { return (uint64_t{id.thread} << 32) | id.sequence; }

struct Operation {
  Nanoseconds begin, call, waited;
  Nanoseconds after{-1};  // joined: from its exit to the first use; -1: unknown
  Nanoseconds gpu{-1};    // joined: how long its work ran on the GPU; -1: unknown
  Bytes bytes;            // of a transfer
  SiteIndex site;
  uint32_t reasons = kUnresolved;         // joined, as Evidence
  Duplicate duplicate = Duplicate::none;  // joined
  Unused unused = Unused::no;             // joined
  Constant constant = Constant::no;       // joined
  uint8_t conditions = 0;                 // joined: Condition
  uint8_t flags = 0;                      // OperationFlag
  bool gpu_outlier : 1 = false;           // joined: `gpu` is far above what its site's calls take
  bool pageable : 1 = false;              // a transfer to or from pageable memory
  bool after_placed : 1 = false;          // joined: `after` is this run's time, not that of another run
  bool left_out : 1 = false;              // stage 3, joined: not looked at, because of --max-overhead
  bool reused : 1 = false;                // a release: as many bytes are allocated again later in the process
  bool ptx : 1 = false;                   // a load of code: it was given as PTX
  bool adjoins : 1 = false;  // one of many small copies, to device memory right behind that of the one before
  uint8_t unused_percent : 7 = 0;  // joined, as Evidence
  bool outside : 1 = false;        // of the part that the program marked (profiled_span.h)

  bool has(OperationFlag flag) const { return (flags & flag) != 0; }
  Bytes unused_bytes() const { return {bytes.count / 100 * unused_percent}; }
  Nanoseconds own() const { return call - waited; }
  Nanoseconds end() const { return begin + call; }
};
static_assert(sizeof(Operation) == 64);  // there can be tens of millions

// Of the GPU work that one operation started: from the first piece's begin to the last one's end.
struct RecordedGpuTime {
  Nanoseconds begin{-1}, end{-1};  // -1: unknown
};

// One piece of the GPU work that an operation started.
struct GpuPiece {
  Nanoseconds begin, end;
  uint32_t operation = 0;    // position in the thread
  uint32_t launch : 24 = 0;  // of the process's kernels (trace/kernel_table.h); 0: no kernel, or not known
  GpuWork work : 8 = GpuWork::other;
};
static_assert(sizeof(GpuPiece) == 24 && LaunchFile::kMostLaunches < 1u << 24);

// A call whose recording took longer than usual (RecordingRecord).
struct LongRecording {
  uint32_t operation = 0;
  Nanoseconds before, after;
};

// Between which calls of its thread the first use of what an instance waited for lies, and where between them
// (first_uses.h).
struct FirstUsePlace {
  uint32_t instance = 0, behind = 0;  // positions in the thread: the instance, the call before the use
  Nanoseconds into;                   // from that call to the use
  Nanoseconds gap;                    // from that call to the next; -1: none follows
};

// What a copy brought, and what its destination held before.
struct CopyContent {
  uint64_t hash[2] = {};
  uint32_t operation = 0;  // position in the thread
  Held held = Held::unknown;
};

struct Thread {
  uint32_t ordinal = 0;
  uint32_t first_sequence = 0;        // of `operations`, as records name them: there is more before a window
  bool main = false;                  // the process's first thread
  uint32_t behind_main = 0;           // kernel thread ids behind that thread's: ascends as threads are made
  std::vector<Operation> operations;  // the index is the `sequence` of the records
  std::vector<LongRecording> long_recordings;  // in the order of the operations
  std::vector<Evidence> evidence;              // stages 3 and 4: one for each operation
  std::vector<FirstUsePlace> first_uses;       // stages 3 and 4: by instance, ascending
  std::vector<CopyContent> contents;           // stage 3: by operation, ascending
  std::vector<RecordedGpuTime> gpu_times;      // stage 3, run gpu-times: one for each operation; empty: none
  std::vector<GpuPiece> gpu_pieces;            // the same, in the order in which they became known
  // Joined: of what each operation's GPU work is, a number of GpuWorkFound::mixes (program/gpu_work.h); empty: not known.
  std::vector<uint32_t> gpu_mix;
};

// Memory that was released and allocated again: as many bytes, at the same call. `thread`: position in
// Process::threads.
struct Reuse {
  struct At {
    uint32_t thread = 0, operation = 0;
  } released, allocated;
};

// One thread entered, or left, an NVTX range of the region's name.
struct RangeMark {
  Nanoseconds at;
  bool begins = false;
};

struct Process {
  const ProcessTrace* trace = nullptr;
  std::string identity;  // the same in every run: rank, executable, how many of these started before it
  std::vector<Thread> threads;
  std::vector<Reuse> reuses;
  std::vector<RangeMark> range_marks;     // stage 2, with --region: of all threads, one after the other
  std::vector<std::string> other_ranges;  // names of other NVTX ranges, as far as they were kept
};

struct Run {
  StageTrace trace;
  std::vector<Process> processes;  // one for each of trace.processes, in its order
  uint64_t misplaced_records = 0;  // evidence that names no operation of its process
  PeerAccesses peers;
  Judgement judgement;  // of all processes
  // Valid: the verdicts are still being checked (Check::beside), for which the trace and `processes` stay where they
  // are. False: they do not hold as they are. Last, so that it is waited for before the rest goes.
  std::future<bool> verdicts_hold;
};

enum class Load : uint8_t {
  operations,
  evidence,  // with room for what the judges find (necessity/judge_process.h), and with `peers`
  gpu_times
};
// `window`: of the run, only what began in it (trace/windows.h).
Result<Run> load_run(const std::filesystem::path& stage_folder, SiteTable& sites, Load load,
                     const std::optional<Window>& window = {});
// Of a run that was loaded with its operations alone: when the GPU worked. Nothing else of it is written.
void load_gpu_times(Run& run);
// Of a run with evidence: what hashes, clocks and the GPU's times say. May run beside the judging of synchronizations.
void load_rest(Run& run);

// Null: not known. `near`: where the last search in this thread ended, from 0.
const CopyContent* content_of(const Thread& thread, uint32_t operation, size_t& near);
}  // namespace diogenes
