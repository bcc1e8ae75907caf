// The on-disk format: defined once, written by the agent and read by the analysis from this header.
//
// A session folder holds `session.json` (trace/session.h) and one folder a stage, in it one folder a process,
// named [rankR-]HOST-PID[.K] (K: when an exec reused the pid). A process's folder holds
//   process      one ProcessFile, updated in place
//   modules      ModuleRecord after ModuleRecord; a ModuleIndex is the position in it
//   stacks       FileHeader, then interned stacks; a StackIndex is the stack's offset in the file, in words of
//                8 bytes
//   operands     FileHeader, then interned lists of operands, likewise (stages 3 and 4)
//   python       FileHeader, then the functions of Python that frames in `stacks` name (python_records.h)
//   kernels      names and shapes of kernels, where GPU times are taken (driver/kernel_launches.h)
//   thread-K     FileHeader, then 32-byte records in the order in which one thread wrote them. When it has
//                ended, another may go on behind a ThreadRecord.
// A process without CUDA has a folder only if it read or wrote the memory of another (PeerAccessRecord): in
// it are `process`, with used_cuda 0, and thread files.
// All are appended through shared mappings, so what was recorded survives SIGKILL. Files grow in steps and
// end in zeros: a record whose type (a stack whose frame_count) is 0 is the end. Type and frame_count are
// written last. Readers take nothing for granted: every index and length is checked against the file.
//
// In brackets behind each field, or once at the top of a record: who writes it -> who reads it. Folders of src/agent/ and
// src/analysis/ are named without these. `nobody`: it is there for people who look at a trace.
//
// Times are CLOCK_MONOTONIC. All little-endian. Addresses occur only where they mean memory of the program;
// code is module + offset.
#pragma once
#include <cstdint>

#include "ffm/stage.h"

namespace diogenes {

inline constexpr uint32_t kTraceVersion = 12;
inline constexpr char kTraceMagic[8] = {'D', 'I', 'O', 'T', 'R', 'A', 'C', '1'};

// What was lost, by cause. Each has a sentence in analysis/report/drops.cc.
enum class Drop : uint8_t {
  records_full,  // recorded_bytes_limit of the plan reached
  file_failed,   // a trace file could not be created or grown (disk full, permissions)
  stacks_full,   // the table of distinct stacks is full: the operation has no stack
  stack_cut,     // deeper than kMaximumFrames: the outer frames are missing
  modules_full,
  threads_full,         // more threads than kMaximumThreads: theirs are not recorded
  guards_full,          // no more page guards: counted as needed
  verification_full,    // suspected duplicate not verified: the staging memory was taken
  objects_full,         // tables of streams, events, allocations or pending copies: counted as needed
  watchpoints_missing,  // perf_event_open is refused: small ranges count as needed
  watchpoints_full,     // all were taken by other small ranges: counted as needed
  orders_full,  // no room for a lock or its like, or for its records: no order follows from it for certain
  count_
};
inline constexpr int kDropCauses = 16;
inline constexpr int kMaximumFrames = 128;
inline constexpr int kMaximumThreads = 32'768;  // OperationId has 16 bits for it
inline constexpr int kMaximumHooks = 1024;

enum class HookState : uint8_t {
  not_tried,
  installed,
  bytes_differ,    // the code in memory is not what the file holds: another tool patched it, left alone
  no_memory_near,  // no page within 2 GiB of the driver
  protected_,      // the kernel refused to make the code writable
};

enum class ProcessEnd : uint8_t { running, orderly, exec = 3 };  // running: killed, or still going

enum class GpuTimesState : uint8_t {
  none,     // not asked for, or the driver was never initialized
  taken,    // a source was there
  missing,  // neither the driver nor a plug-in offers them
  refused,  // the source did not start: another tool holds the profiling interface, or it failed
};

struct PythonSummary {
  // [src/python -> report/notices]
  // PY_VERSION_HEX: 0x030b02f0; 0: not known. Before 3.11 without the last two digits
  uint32_t version;
  uint32_t state;       // PythonState (trace/python_records.h)
  uint32_t unreadable;  // stacks whose Python frames could not be read or kept
};

struct FileHeader {
  // [core/recording -> trace/reader]
  char magic[8];
  uint32_t version;
  uint32_t thread;  // thread-K: number of its first thread
  uint32_t tid;     // thread-K: kernel thread id of that
  uint32_t reserved;
  int64_t created_ns;  // [core/recording -> nobody]
};
static_assert(sizeof(FileHeader) == 32);

struct ProcessFile {
  char magic[8];
  uint32_t version;  // [core/recording -> trace/reader]
  Stage stage;       // [core/recording -> nobody]
  ProcessEnd end;    // [hooks/collector -> necessity, report/notices]
  uint8_t reserved1;
  uint8_t used_cuda;    // the driver was initialized [hooks -> runs, report, launcher]
  int32_t pid, parent;  // [core/recording -> runs, report; parent: nobody]
  int32_t rank;         // -1: none [core/recording -> runs, replay, report]
  int32_t reserved2;
  int64_t started_ns, ended_ns;    // [core/recording, hooks/collector -> benefit, replay, report]
  char host[64];                   // [core/recording -> runs/peer_accesses, report]
  char executable[512];            // [core/recording -> runs, symbols, report]
  char driver_path[512];           // [hooks/driver_image -> runs/decisions, report, launcher]
  uint8_t driver_build_id[20];     // [hooks/driver_image -> runs/decisions, launcher]
  uint8_t driver_build_id_length;  // [hooks/driver_image -> runs/decisions, launcher]
  GpuTimesState gpu_times;         // stage 3, run gpu-times [core/recording -> runs, replay, report/notices]
  uint8_t reserved[2];
  int32_t driver_version;  // cuDriverGetVersion: 13000 [hooks/driver_image -> report, launcher]
  int32_t capability_major, capability_minor;  // [hooks/driver_image -> report, launcher]
  char device_name[256];                       // [hooks/driver_image -> report]
  uint64_t driver_base;                        // where the image lies [hooks/driver_image -> src/values]
  uint32_t threads;                            // thread files made [core/recording -> trace/reader]
  uint32_t hook_count;                         // of hook_state [core/recording -> report/notices, launcher]
  // Measured in this process: what recording one operation adds to it, mean of those with no RecordingRecord.
  int64_t hook_cost_ns;         // [hooks/collector -> runs/recording_cost]
  uint64_t drops[kDropCauses];  // by Drop [anybody in the agent -> necessity, replay, report/notices]
  // By position in the plan: HookState.
  uint8_t hook_state[kMaximumHooks];  // [hooks/driver_image -> report/notices, launcher]
  int32_t multiprocessors;  // of the first device that was used; 0: not known [hooks/driver_image -> replay]
  char gpu_times_refusal[128];  // for GpuTimesState::refused: why [core/recording -> report/notices]
  // What the hooks add inside a call's own time: one that enters no wait function, one that does
  // (hook_probe.h).
  int32_t inside_call_ns, inside_waiting_call_ns;  // [hooks/collector -> runs/recording_cost, replay]
  // Threads of the program that ran when the driver was initialized, the main one among them; stages 3 and 4.
  // Their starts are not recorded. 0xffffffff: not known, and no order between threads is recorded.
  uint32_t earlier_threads;  // [hooks/collector -> tests/e2e]
  // Stacks that were walked by libgcc, all new ones among them; and of these, where the agent's own walk gave
  // up, and where it found other frames (unwind/walker.h).
  uint32_t libgcc_walks, own_walks_given_up, own_walks_differing;  // [core/stacks -> nobody]
  // Of the first device that was used; all 0: not known.
  uint8_t device_uuid[16];  // [hooks/driver_image -> replay]
  PythonSummary python;     // [core/stacks -> report/notices]
};

// A loaded file. Appended when it is mapped; never removed.
struct ModuleRecord {
  // [core/recording -> core/stacks]
  uint64_t begin, end;      // addresses it was mapped at
  uint64_t bias;            // address - bias = offset: the virtual address in the file
  uint8_t build_id[20];     // [core/recording -> symbols]
  uint8_t build_id_length;  // [core/recording -> symbols]
  uint8_t present;          // 1; 0 ends the file [core/recording -> trace/reader]
  uint8_t reserved[2];
  // As the dynamic linker knows it; the executable's real path.
  char path[464];  // [core/recording -> symbols, report, launcher]
};
static_assert(sizeof(ModuleRecord) == 512);

// A frame in the stacks file. `offset` is what a symbolizer takes: the return address - 1 for a caller, the
// instruction itself for an interrupted frame. Innermost first; frames of the driver and of the agent are
// left out above (inside) the public call.
struct Frame {
  // [core/stacks, src/python -> symbols]
  uint64_t packed;  // module in the upper 16 bits, offset in the lower 48; module 0xffff: no file, offset is
                    // the address; kPython: see python_records.h

  static constexpr uint64_t kNoModule = 0xffff;
  static constexpr uint64_t kPython = 0xfffe;
  static constexpr uint64_t kPythonOfWaiter = 0xfffd;  // of the thread that waits for what this one does
  static constexpr Frame of(uint64_t module, uint64_t offset) {
    return {(module << 48) | (offset & 0xffff'ffff'ffff)};
  }
  constexpr uint64_t module() const { return packed >> 48; }
  constexpr uint64_t offset() const { return packed & 0xffff'ffff'ffff; }
};

// Frames of the machine come first, frames of Python after them.
struct StackHeader {
  // [core/stacks -> trace/reader]
  uint32_t frame_count;  // written last; 0 ends the file
  uint32_t cut;          // kCut, kPythonCut
  // Frame frames[frame_count];
};
inline constexpr uint32_t kCut = 1, kPythonCut = 2;  // outer frames of the machine, of Python are missing
inline constexpr int kMaximumStackFrames = 2 * kMaximumFrames;  // of both

enum class RecordType : uint8_t {
  none,
  operation,
  transfer,
  allocation,
  hash,
  gpu_time,
  recording = 7,
  // Facts of stages 3 and 4, from which analysis/necessity/ judges:
  call,
  stream,
  watch,
  touch,
  unwatch,
  memory_event,
  order,
  peer_access,
  value,
  thread,
  range
};
inline constexpr RecordType kLastRecordType = RecordType::range;

inline constexpr uint32_t kNoStack = 0;          // no stack lies at offset 0: the file header does
inline constexpr uint32_t kLegacyStream = 0;     // OperationRecord::stream
inline constexpr uint32_t kPerThreadStream = 1;  // of the thread that wrote the record
inline constexpr uint32_t kNoStream = 0xffffffff;
// User streams and events are numbered from 2 in order of first sight, per process; a handle that is
// destroyed and made again gets a new number.

enum OperationFlag : uint8_t {
  kFailed = 1,         // the driver returned an error
  kWaited = 2,         // the internal wait function was entered, for however short a time
  kQueueFull = 4,      // the launch-queue wait was entered
  kCapturing = 8,      // issued to a stream under capture: no GPU work was done
  kCoarseTimes = 16,   // call and waited are in units of 1,024 ns
  kDriverThread = 32,  // a wait outside any public call (private API, the driver's own threads)
  kUntimed = 64,       // GPU times were taken, but not of this call (agent/core/recording/gpu_time_windows.h)
};

// What a program gives to the driver as code.
enum class CodeImage : uint32_t {
  unknown,
  binary,
  ptx
};  // PTX: the driver compiles it, or has done so before

// One outermost public call. Its ordinal among the operations of its thread is its `sequence`.
struct OperationRecord {
  // [hooks/collector -> runs, necessity, replay]
  RecordType type;
  uint8_t flags;  // OperationFlag
  // Catalogue index, or kWaitFunction for a wait outside any public call.
  uint16_t function;
  uint32_t stack;    // StackIndex, kNoStack [hooks/collector -> runs]
  int64_t begin_ns;  // entry
  uint32_t call;     // ns from entry to exit (kCoarseTimes: 1,024 ns) [hooks/collector -> runs, necessity]
  uint32_t waited;   // ns inside the wait functions, same unit [hooks/collector -> runs, necessity]
  uint32_t stream;   // see above [hooks/collector -> necessity, replay]
  // Event number of an event call. Of a launch: how many blocks it has, as far as 32 bits go; 0: not known.
  // Of a stream's creation: 1 if the legacy default stream does not order it (non-blocking). Of the load of code:
  // CodeImage. Else 0.
  uint32_t object;
};
static_assert(sizeof(OperationRecord) == 32);

enum class MemoryKind : uint8_t { unknown, device, pageable, pinned, registered, managed };

// Follows the OperationRecord of a transfer or fill. A fill has source 0 and the pattern's width is not kept.
struct TransferRecord {
  // [core/calls -> nobody]
  RecordType type;
  uint8_t direction;                         // Direction [core/calls -> replay]
  MemoryKind destination_kind, source_kind;  // [core/calls -> runs, necessity, replay]
  uint32_t device;                           // ordinal of the current device
  uint64_t destination, source;
  uint64_t bytes;  // of data moved (2D: width x height) [core/calls -> runs, replay]
};
static_assert(sizeof(TransferRecord) == 32);

// Follows the OperationRecord of an allocation or release.
struct AllocationRecord {
  // [core/calls -> runs, necessity]
  RecordType type;
  MemoryKind kind;   // [core/calls -> nobody]
  uint8_t released;  // 0: allocated
  uint8_t reserved[5];
  uint64_t address, bytes;  // bytes 0: unknown
  uint64_t reserved2;
};
static_assert(sizeof(AllocationRecord) == 32);

// Names an operation: thread file and sequence.
struct OperationId {
  // [as the record that holds it]
  uint16_t thread = 0xffff;
  uint16_t reserved = 0;
  uint32_t sequence = 0xffffffff;
};
static_assert(sizeof(OperationId) == 8);

// What the destination of a copy held before it.
enum class Held : uint8_t {
  unknown,  // it was not read
  same,     // what the copy brings
  other,
};

// The content of a transfer. Written when it is known, in any thread's file, after the operation it names.
// Which transfer repeats which is judged in the analysis.
struct HashRecord {
  // [watching/facts -> runs]
  RecordType type;
  Held held;
  uint16_t thread;  // of the operation
  uint32_t sequence;
  uint64_t hash[2];  // XXH3-128, low word first
  // To the device: the value of `pattern_bytes` bytes that all of it repeats.
  uint32_t pattern;       // [watching/facts -> runs]
  uint8_t pattern_bytes;  // 1, 2 or 4; 0: none
  uint8_t reserved[3];
};
static_assert(sizeof(HashRecord) == 32);

// When one piece of the GPU work ran that an operation started. Written when it is known, in any thread's
// file. Stage gpu_times.
struct GpuTimeRecord {
  // [core/recording -> runs]
  RecordType type;
  uint8_t work;     // GpuWork
  uint16_t thread;  // of the operation
  uint32_t sequence;
  int64_t begin_ns, end_ns;
  uint32_t stream;  // as the source numbers them [core/recording -> nobody]
  uint32_t launch;  // number in the file `kernels`; 0: no kernel, or not known
};
static_assert(sizeof(GpuTimeRecord) == 32);

// Follows the OperationRecord of a call whose recording took long: the first walk of a stack, say, or the
// growth of a file. Stage 2.
struct RecordingRecord {
  // [hooks/collector -> runs]
  RecordType type;
  uint8_t reserved[7];
  int64_t before_ns, after_ns;  // what it took, before the call's begin and after its end
  uint64_t reserved2;
};
static_assert(sizeof(RecordingRecord) == 32);

// The thread that wrote the records before this one has ended; another wrote those behind it, from its first one on.
struct ThreadRecord {
  // [core/recording -> trace/reader]
  RecordType type;
  uint8_t reserved[3];
  uint32_t thread;  // its number
  uint32_t tid;     // kernel thread id
  uint32_t reserved2;
  int64_t created_ns;  // [core/recording -> nobody]
  uint64_t reserved3;
};
static_assert(sizeof(ThreadRecord) == 32);

enum class RangeEdge : uint8_t { begin, end, other };

// The thread entered or left an NVTX range of the region's name; nested ones are left out, but those that were started count
// each. `other`: there is a range of this name, and it is not the region's. Stage 2, with --region.
struct RangeRecord {
  // [hooks/nvtx_ranges -> program/profiled_span]
  RecordType type;
  RangeEdge edge;
  char name[22];  // other: its first bytes, and 0 where there are fewer; else empty
  int64_t at_ns;
};
static_assert(sizeof(RangeRecord) == 32);

}  // namespace diogenes
