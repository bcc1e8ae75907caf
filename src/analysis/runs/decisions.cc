// What stage 1 tells: which driver functions wait.
#include <algorithm>
#include <cstring>
#include <set>

#include "analysis/analyse.h"
#include "analysis/symbols/symbols.h"

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

}  // namespace diogenes
