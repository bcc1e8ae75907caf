#include "analysis/runs/decisions.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "analysis/symbols/symbols.h"
#include "driver/catalogue.h"
#include "trace/reader.h"

namespace diogenes {
namespace {

bool is_driver(const ProcessFile& process, const ModuleRecord& module) {
  if (process.driver_build_id_length > 0 && module.build_id_length == process.driver_build_id_length &&
      memcmp(module.build_id, process.driver_build_id, module.build_id_length) == 0)
    return true;
  return *process.driver_path && strcmp(module.path, process.driver_path) == 0;
}

// Collects the stacks of waits outside any public call.
struct WaitStacks {
  std::set<uint32_t>& stacks;
  void operator()(const OperationRecord& record, uint32_t) {
    if (record.function == kWaitFunction) stacks.insert(record.stack);
  }
  template <typename Record>
  void operator()(const Record&, uint32_t) {}
};

uint64_t sleeps_of(const ThreadTrace& thread) {
  uint64_t count = 0;
  for (size_t i = 0; i < thread.record_count(); ++i) {
    if (thread.type(i) != RecordType::order) continue;
    const auto& record = thread.record<OrderRecord>(i);
    count += (record.flags & kAcquires) != 0 && (record.flags & kBlocked) != 0;
  }
  thread.release_pages();
  return count;
}

}  // namespace

Result<std::vector<std::string>> waiting_functions(const std::filesystem::path& baseline_folder) {
  auto stage = read_stage(baseline_folder);
  if (!stage) return stage.error();
  std::set<std::string> names;
  for (const ProcessTrace& process : stage->processes) {
    std::set<uint32_t> stacks;
    for (const ThreadTrace& thread : process.threads) thread.visit(WaitStacks{stacks});
    Symbolizer symbolizer;
    std::set<uint64_t> seen;
    for (uint32_t stack : stacks) {
      // The outermost of the driver's frames is the public function: the program, or a library of it, called
      // it.
      auto frames = process.stacks.frames(stack);
      auto outermost = std::find_if(frames.rbegin(), frames.rend(), [&](Frame frame) {
        const ModuleRecord* module = process.module(frame.module());
        return module && is_driver(process.process, *module);
      });
      if (outermost == frames.rend() || !seen.insert(outermost->packed).second) continue;
      std::string name = symbolizer.export_at(process.module(outermost->module())->path, outermost->offset());
      if (!name.empty()) names.insert(name);
    }
  }
  return std::vector<std::string>(names.begin(), names.end());
}

uint64_t count_thread_sleeps(const std::filesystem::path& stage_folder) {
  const auto stage = read_stage(stage_folder);
  uint64_t most = 0;
  if (!stage) return most;
  for (const ProcessTrace& process : stage->processes) {
    if (process.threads.size() < 2) continue;
    uint64_t count = 0;
    for (const ThreadTrace& thread : process.threads) count += sleeps_of(thread);
    most = std::max(most, count);
  }
  return most;
}

}  // namespace diogenes
