// One run of the program in memory: what a stage recorded, per process, thread and operation.
// In: a stage folder (trace/reader.h). Out: operations with the site they belong to, and in stages 3 and 4
// the evidence about each. Sites are shared by all runs of a session: the same driver function over the same
// stack has the same SiteIndex in every run (site_key.h). Times are taken as they are, made sane only
// where damage would overflow.
#pragma once
#include <functional>
#include <future>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/findings/findings.h"
#include "analysis/necessity/interpret/peer_accesses.h"
#include "analysis/necessity/judgement.h"
#include "base/index.h"
#include "base/units.h"
#include "driver/catalogue.h"
#include "trace/reader.h"
#include "trace/site_key.h"

namespace diogenes {

using SiteIndex = Index<struct SiteTag>;

// A stack that can be resolved: whose process it is in says which modules its frames are of.
struct StackPlace {
  const ProcessTrace* process = nullptr;
  uint32_t stack = kNoStack;
  auto operator<=>(const StackPlace&) const = default;
};

struct Site {
  SiteKey key = 0;
  uint16_t function = kNoFunction;
  StackPlace place;  // where it was seen first
};

class SiteTable {
 public:
  SiteIndex site_of(const ProcessTrace& process, uint16_t function, uint32_t stack);
  const Site& operator[](SiteIndex index) const { return sites_[index.value]; }
  size_t size() const { return sites_.size(); }

 private:
  std::vector<Site> sites_;
  std::unordered_map<SiteKey, SiteIndex> by_key_;
};

// What stages 3 and 4 know of one instance. `operation` names within the same process.
struct Evidence {
  uint32_t reasons = kUnresolved;  // Reason; 0: not needed
  uint32_t use_stack = kNoStack;
  int64_t after_ns = -1;
  int64_t clock_after_ns = -1;  // when the program read a clock behind it; -1: it did not
  OperationId first, lost_by;   // lost_by: what overwrote or released what is unused
  Duplicate duplicate = Duplicate::none;
  Unused unused = Unused::no;
  Constant constant = Constant::no;
  uint8_t conditions = 0;  // Condition
  bool judged = false;     // there is a verdict
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
  bool outside : 1 = false;               // of the part that the program marked (profiled_span.h)

  bool has(OperationFlag flag) const { return (flags & flag) != 0; }
  Nanoseconds own() const { return call - waited; }
  Nanoseconds end() const { return begin + call; }
};
static_assert(sizeof(Operation) == 64);  // there can be tens of millions

// Of the GPU work that one operation started: from the first piece's begin to the last one's end.
struct RecordedGpuTime {
  Nanoseconds begin{-1}, end{-1};  // -1: unknown
};

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
  bool main = false;                  // the process's first thread
  uint32_t behind_main = 0;           // kernel thread ids behind that thread's: ascends as threads are made
  std::vector<Operation> operations;  // the index is the `sequence` of the records
  std::vector<LongRecording> long_recordings;  // in the order of the operations
  std::vector<Evidence> evidence;              // stages 3 and 4: one for each operation
  std::vector<FirstUsePlace> first_uses;       // stages 3 and 4: by instance, ascending
  std::vector<CopyContent> contents;           // stage 3: by operation, ascending
  std::vector<RecordedGpuTime> gpu_times;      // stage 3, run gpu-times: one for each operation; empty: none
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
  necessity::Judgement judgement;  // of all processes
  // Valid: the verdicts are still being checked (Check::beside), for which the trace and `processes` stay where they
  // are. False: they do not hold as they are. Last, so that it is waited for before the rest goes.
  std::future<bool> verdicts_hold;
};

// For tests, in place of the judges (necessity/judge_process.h): fills in the evidence of a process's operations.
// `peers`: what other processes did to its memory.
using JudgeProcess = necessity::Judgement (*)(Process& process, const SiteTable& sites,
                                              std::span<const necessity::PeerAccess> peers);
// What is loaded beside the operations: the evidence with GPU times, or GPU times alone.
enum class Load : uint8_t { operations, evidence, gpu_times };
// What is done while a run is judged: it may read the run's operations and GPU times, and `sites`.
using Meanwhile = std::function<void(const Run&)>;
struct LoadOptions {
  JudgeProcess by_hand = nullptr;  // null: the judges
  Meanwhile meanwhile;
  necessity::Check check = necessity::Check::first;
};
Result<Run> load_run(const std::filesystem::path& stage_folder, SiteTable& sites, Load load,
                     const LoadOptions& options = {});

// Null: not known. `near`: where the last search in this thread ended, from 0.
const CopyContent* content_of(const Thread& thread, uint32_t operation, size_t& near);
const DriverFunction* function_of(const Site& site);
std::string site_key_text(SiteKey key);  // as the keys of findings begin
std::string operation_name(
    const Site& site);  // "cuMemFree"; a wait outside any public call is "(private API)"

}  // namespace diogenes
