#include "agent/watching/value_follower.h"

#include <cstring>

#include "agent/core/recording/elf_image.h"
#include "agent/core/recording/module_map.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/core/stacks/stack.h"
#include "agent/core/stacks/stack_table.h"
#include "agent/watching/guard/system_calls/undispatched_code.h"
#include "agent/watching/guard/threads/threads.h"

namespace diogenes::agent {

namespace {

CodeOf code_of(uintptr_t address) {
  if (undispatched_code().contains(address)) return CodeOf::passage;
  if (in_agent(address)) return CodeOf::agent;
  return in_driver_code(address) ? CodeOf::driver : CodeOf::program;
}

const ModuleRecord* module_of(uintptr_t address) {
  uint32_t index = 0;
  if (guard_thread.driver || !guard_thread.slot || !stack_lock().try_lock()) return nullptr;
  const ModuleRecord* module = find_module(address, &index);
  stack_lock().unlock();
  return module;
}

}  // namespace

void find_value_source() {
  const ValueSource* found = nullptr;
  for_each_image(
      [](const LoadedImage& image, void* to) {
        if (strstr(image.path, "libdiogenes-"))
          if (uintptr_t symbol = image.symbol(kValueSourceSymbol)) *static_cast<uintptr_t*>(to) = symbol;
      },
      &found);
  const ValueServices services{diogenes_copy,
                               diogenes_raw_syscall,
                               [](const ucontext_t* context) { return capture_interrupted_stack(context); },
                               [](const ValueRecord& record) { return append(record); },
                               code_of,
                               module_of,
                               []() -> const ProcessFile* { return process_file(); },
                               plan().plan,
                               plan().hooks};
  if (found && found->bytes == sizeof *found && found->start(services)) value_source = found;
}

}  // namespace diogenes::agent
