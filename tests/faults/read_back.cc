#include "read_back.h"

#include <algorithm>
#include <set>

#include "driver/catalogue.h"
#include "trace/reader.h"

namespace diogenes::faults {
namespace {

// The calls of the cycles in one thread's file, in order, each with what follows it in the file.
struct Calls {
  struct One {
    uint16_t function;
    uint32_t stack;
    uint64_t bytes;  // 0: no transfer follows
    bool has_call_record;
  };
  std::vector<One> all;
  uint16_t launch = find_driver_function("cuLaunchKernel"), copy = find_driver_function("cuMemcpyHtoD_v2"),
           wait = find_driver_function("cuCtxSynchronize");
  bool counts = false;  // the last operation is one of the three

  void operator()(const OperationRecord& record, uint32_t) {
    counts = record.function == launch || record.function == copy || record.function == wait;
    if (counts) all.push_back({record.function, record.stack, 0, false});
  }
  void operator()(const TransferRecord& record, uint32_t) {
    if (counts) all.back().bytes = record.bytes;
  }
  void operator()(const CallRecord&, uint32_t) {
    if (counts) all.back().has_call_record = true;
  }
  template <typename Record>
  void operator()(const Record&, uint32_t) {}
};

class Reader {
 public:
  Reader(const StageTrace& stage, const Counted& counted, bool has_calls)
      : stage_(stage), counted_(counted), has_calls_(has_calls) {}

  ReadBack calls() {
    for (const CountedThread& thread : counted_.threads) {
      const uint64_t returned = thread.returned.load(std::memory_order_acquire);
      result_.returned += returned;
      if (returned > 0) check_thread(thread.tid, returned);
    }
    return std::move(result_);
  }

  // Each path that led to a wait that has returned: the deepest `kDepths` ones of one thread are those of
  // all.
  ReadBack paths() {
    for (const CountedThread& thread : counted_.threads)
      result_.returned =
          std::max(result_.returned,
                   std::min(kDepths, thread.returned.load(std::memory_order_acquire) / kCallsOfCycle));
    std::set<size_t> depths;
    for (const ProcessTrace& process : stage_.processes)
      for (const ThreadTrace& thread : process.threads) {
        Paths paths{process, depths};
        thread.visit(paths);
      }
    result_.records = depths.size();
    if (result_.records < result_.returned)
      wrong("of " + std::to_string(result_.returned) + " paths to the wait function there are " +
            std::to_string(result_.records));
    return std::move(result_);
  }

 private:
  struct Paths {
    const ProcessTrace& process;
    std::set<size_t>& depths;
    void operator()(const OperationRecord& record, uint32_t) {
      if (record.function == kWaitFunction) depths.insert(process.stacks.frames(record.stack).size());
    }
    template <typename Record>
    void operator()(const Record&, uint32_t) {}
  };

  void wrong(const std::string& text) {
    result_.wrong.push_back(stage_.folder.filename().string() + ": " + text);
  }

  void check_thread(int32_t tid, uint64_t returned) {
    const std::string name = "thread " + std::to_string(tid) + ": ";
    for (const ProcessTrace& process : stage_.processes)
      for (const ThreadTrace& thread : process.threads) {
        if (static_cast<int32_t>(thread.tid()) != tid) continue;
        if (thread.damaged()) wrong(name + "damaged");
        Calls calls;
        thread.visit(calls);
        check_calls(process, calls, name, returned);
        return;
      }
    wrong(name + "it has made " + std::to_string(returned) + " calls, and has no file");
  }

  void check_calls(const ProcessTrace& process, const Calls& calls, const std::string& name,
                   uint64_t returned) {
    result_.records += calls.all.size();
    if (calls.all.size() < returned || calls.all.size() > returned + 1)
      wrong(name + std::to_string(returned) + " calls have returned, and " +
            std::to_string(calls.all.size()) + " are recorded");
    for (uint64_t i = 0; i < calls.all.size(); ++i) {
      const Calls::One& call = calls.all[i];
      const std::string at = name + "call " + std::to_string(i) + ": ";
      const uint16_t expected[] = {calls.launch, calls.copy, calls.wait};
      if (call.function != expected[i % kCallsOfCycle]) wrong(at + "it is another function's");
      // What follows the operation is there for sure only if the call had returned.
      if (i >= returned) break;
      const bool copies = call.function == calls.copy;
      if (copies && call.bytes != copy_bytes(i / kCallsOfCycle))
        wrong(at + "it copies " + std::to_string(call.bytes) + " bytes");
      if (has_calls_ && !call.has_call_record) wrong(at + "nothing says what it did to memory");
      auto frames = process.stacks.frames(call.stack);
      if (frames.empty()) wrong(at + "it has no stack");
      for (Frame frame : frames)
        if (frame.module() != Frame::kNoModule && !process.module(frame.module()))
          wrong(at + "a frame is in a file that is not listed");
    }
  }

  const StageTrace& stage_;
  const Counted& counted_;
  bool has_calls_;
  ReadBack result_;
};

}  // namespace

ReadBack read_back(const std::filesystem::path& run_folder, const Counted& counted) {
  Result<StageTrace> stage = read_stage(run_folder);
  if (!stage) {
    ReadBack nothing;
    if (counted.returned() > 0) nothing.wrong.emplace_back(stage.error().c_str());
    return nothing;
  }
  const std::string run = run_folder.filename();
  Reader reader(*stage, counted, run == stage_name(Stage::memory_tracing));
  return run == stage_name(Stage::baseline) ? reader.paths() : reader.calls();
}

}  // namespace diogenes::faults
