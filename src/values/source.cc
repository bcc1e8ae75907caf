// libdiogenes-values.so: follows values behind their first touch, by single-stepping a few instructions of the thread that
// touched. It is preloaded in the run of stage 4 alone, and takes part in nothing but the signals that the agent hands it.
#include "driver/catalogue.h"
#include "trace/module_identity.h"
#include "values/follower.h"

namespace diogenes::values {

namespace {

ValueServices agent{};

bool followed(uintptr_t instruction) {
  const ModuleRecord* module = agent.module_of(instruction);
  if (!module) return false;
  const uint64_t identity = module_identity(*module), offset = instruction - module->bias;
  const auto* places = reinterpret_cast<const FollowedPlace*>(agent.hooks + agent.plan->hook_count);
  for (uint32_t i = 0; i < agent.plan->followed_count; ++i)
    if (places[i].module == identity && places[i].offset == offset) return true;
  return false;
}

DriverArguments arguments_of(uintptr_t address) {
  const ProcessFile* process = agent.process();
  for (uint32_t i = 0; process && i < agent.plan->hook_count; ++i) {
    if (agent.hooks[i].entry + process->driver_base != address) continue;
    const DriverFunction* function = driver_function(agent.hooks[i].function);
    switch (function ? function->arguments : Arguments::none) {
      case Arguments::launch:
      case Arguments::launch_cooperative:
        return {.values = 8, .parameters = 9};
      case Arguments::launch_ex:
        return {.parameters = 2};
      case Arguments::copy:
        return {.values = 3, .source = 1, .bytes = 2};
      case Arguments::fill:
        return {.values = 3};
      default:
        return {};
    }
  }
  return {};
}

bool start_in_agent(const ValueServices& services) {
  agent = services;
  if (agent.plan->followed_count == 0) return false;
  // A fifth of the run, and enough for a few values in the shortest.
  return start({services, arguments_of, followed, agent.plan->baseline_ns / 5 + 100'000'000});
}

}  // namespace

// The agent looks for it by name (trace/value_source.h).
extern "C" __attribute__((visibility("default"))) const ValueSource diogenes_value_source = {
    sizeof(ValueSource), start_in_agent, touched, trap, system_call, interrupted, finish, closing, forget,
};

}  // namespace diogenes::values
