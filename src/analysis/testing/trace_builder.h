// Test support: a timeline as a literal, the session folder that the agent would have written for it, and
// the verdicts that the timeline gives by hand, in the place of those of the judges.
//
//   auto trace = timeline().work(8).sync(lasting(10)).first_use(after(40)).work(4);
//   write_session(folder, trace);
//   analyse(folder, {.judge = verdicts_by_hand});
//
// Units are microseconds. Each thread of a timeline has its own clock, which every step moves on; at(...)
// sets it. Launches move the clock, and are recorded in stages 3 and 4 only, as plans have it: so sequences
// differ between runs.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "analysis/runs/run.h"
#include "trace/format.h"
#include "trace/session.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes::testing {

struct At {
  int64_t ns;
};
struct Lasting {
  int64_t ns;
};
struct After {
  int64_t ns;
};
constexpr At at(double us) { return {static_cast<int64_t>(us * 1000)}; }
constexpr Lasting lasting(double us) { return {static_cast<int64_t>(us * 1000)}; }
constexpr After after(double us) { return {static_cast<int64_t>(us * 1000)}; }

// A piece of GPU work, in the run gpu-times.
struct StepWork {
  int64_t begin_ns = 0, end_ns = 0;
  GpuWork work = GpuWork::other;
  std::string kernel;  // mangled; "": not told
  LaunchShape shape{};
};

// One operation of the timeline, and what stages 3 and 4 find out about it.
struct Step {
  std::string symbol;
  int thread = 0;
  int64_t begin_ns = 0, own_ns = 0, waited_ns = 0;
  uint8_t flags = 0;
  std::vector<Frame> stack;
  bool launch = false;
  uint64_t bytes = 0;    // of a transfer, allocation or release
  uint64_t address = 0;  // of an allocation or release
  bool judged = false;   // there is a verdict
  uint32_t reasons = 0;
  int64_t after_ns = -1;
  std::vector<Frame> use_stack;
  Duplicate duplicate = Duplicate::none;
  int first = -1;  // step whose content this transfer repeats
  std::vector<StepWork> gpu;
  Unused unused = Unused::no;
  Constant constant = Constant::no;
  int lost_by = -1;  // step that overwrote or released what is unused
  bool pageable = false;
  uint8_t conditions = 0;
  uint8_t unused_percent = 0;
  int64_t recording_before_ns = 0, recording_after_ns = 0;  // beyond the usual; 0: as usual
  bool left_out = false;
  uint32_t object = 0;  // OperationRecord::object
  uint32_t stream = 0;  // OperationRecord::stream
};

class Timeline {
 public:
  // Clock and thread.
  Timeline& on_thread(int ordinal);  // of its file
  Timeline& made_as(int nth);        // thread of the process; else the order of the files is theirs
  Timeline& work(double us);         // W
  Timeline& at(At time);

  // Operations. A site of its own for every step, unless from() says otherwise.
  Timeline& launch(double own_us = 0);                // L
  Timeline& sync(Lasting waited, double own_us = 0);  // S: cuCtxSynchronize
  Timeline& sync(At begin, Lasting waited);
  Timeline& call(const char* symbol, Lasting waited, double own_us = 0);
  Timeline& copy(const char* symbol, uint64_t bytes, Lasting waited, double own_us);
  Timeline& allocate(uint64_t address, uint64_t bytes, double own_us = 0);
  Timeline& release(uint64_t address, Lasting waited, double own_us = 0);  // cuMemFree_v2

  // About the last operation.
  Timeline& from(uint64_t offset);  // called at this offset of the program
  Timeline& from_stack(std::vector<Frame> stack);
  Timeline& unnecessary();
  Timeline& needed(uint32_t reasons);
  Timeline& first_use(After from_exit, uint32_t reasons = kCpuAccess, uint64_t use_offset = 0x900);
  Timeline& first_use(At time);  // the same, on the thread's clock
  Timeline& constant(Constant what);
  Timeline& repeats(int step, Duplicate duplicate = Duplicate::verified);
  Timeline& unused(Unused how, int by);  // `by`: step; may be a later one
  Timeline& unused_in_part(uint8_t percent);
  Timeline& pageable();  // memory of the transfer's host side
  Timeline& conditions(uint8_t conditions);
  Timeline& in_stream(uint32_t number);      // else the default stream
  Timeline& flags(uint8_t flags);            // beside kWaited, which follows from the wait
  Timeline& on_gpu(At begin, Lasting time);  // its work ran then: recorded in the run gpu-times
  // The same, of a kernel or a copy; again: of another piece.
  Timeline& on_gpu(At begin, Lasting time, const char* kernel, const LaunchShape& shape = {});
  Timeline& on_gpu(At begin, Lasting time, GpuWork work);
  Timeline& recorded(double before_us, double after_us);  // what recording it took: longer than usual
  Timeline& without_wait();                               // the wait function was not entered
  Timeline& left_out();                                   // stage 3 did not look at it
  Timeline& image(CodeImage what);                        // the code that it loads

  int last() const { return static_cast<int>(steps_.size()) - 1; }
  const std::vector<Step>& steps() const { return steps_; }
  int64_t end_ns() const;  // of the longest thread
  int made(int thread) const;

 private:
  Step& add(const char* symbol, int64_t own_ns, int64_t waited_ns);

  std::vector<Step> steps_;
  std::vector<int64_t> clocks_ = {0};
  std::map<int, int> made_;
  int thread_ = 0;
};

inline Timeline timeline() { return {}; }

// How the process that ran the timeline is written.
struct ProcessOptions {
  Stage stage = Stage::tracing;
  int pid = 100;
  int rank = -1;
  int64_t start_ns = 1'000'000;  // CLOCK_MONOTONIC at the timeline's 0
  int64_t hook_cost_ns = 0;
  int32_t inside_call_ns = 0, inside_waiting_call_ns = 0;  // what the hooks add to a call's own time
  bool launches_traced = false;  // launches are in stage 2 too, as when every function is hooked
  uint8_t device = 0;            // of its UUID; 0: not known
  ProcessEnd end = ProcessEnd::orderly;
  std::vector<uint64_t> drops;  // by Drop
  std::vector<HookState> hooks;
  std::string program = "/app/app";  // its file; module 0. Module 1 is the driver
  std::string driver = "/driver/libcuda.so.1";
};

// Frames of the default modules.
constexpr Frame program_frame(uint64_t offset) { return Frame::of(0, offset); }
constexpr Frame driver_frame(uint64_t offset) { return Frame::of(1, offset); }

// Writes STAGE/HOST-PID for the timeline, and in stages 3 and 4 its file `verdicts`: LiteralVerdict after
// LiteralVerdict.
void write_process(const std::filesystem::path& stage_folder, const Timeline& trace,
                   const ProcessOptions& options = {});

struct LiteralVerdict {
  OperationId operation;
  OperationId first, lost_by;
  uint32_t reasons;
  uint32_t use_stack;
  int64_t after_ns;
  Duplicate duplicate;
  Unused unused;
  Constant constant;
  uint8_t conditions;
  uint8_t unused_percent;
  uint8_t judged;  // 0: there is none. No bool: damaged files hold other values
};

// Reads that file: for load_run() and AnalysisOptions::judge.
Judgement verdicts_by_hand(Process& process, const SiteTable& sites, std::span<const PeerAccess> peers);

// Writes session.json and the stages 1 to 4 of one process. `runtime_us` 0: the timeline's length.
Session write_session(const std::filesystem::path& folder, const Timeline& trace, ProcessOptions options = {},
                      double runtime_us = 0);

}  // namespace diogenes::testing
