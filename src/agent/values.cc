#include "agent/values.h"

#include <cstring>

#include "agent/elf_image.h"
#include "agent/guard/region.h"
#include "agent/guard/threads.h"
#include "agent/modules.h"
#include "agent/recorder.h"
#include "agent/stack.h"
#include "agent/stack_table.h"
#include "agent/stage.h"
#include "driver/catalogue.h"
#include "trace/module_identity.h"

namespace diogenes::agent {

namespace {

const ValueSource* source = nullptr;  // set before main

CodeOf code_of(uintptr_t address) {
  if (undispatched_code().contains(address)) return CodeOf::passage;
  if (in_agent(address)) return CodeOf::agent;
  return in_driver_code(address) ? CodeOf::driver : CodeOf::program;
}

DriverArguments arguments_of(uintptr_t address) {
  const MappedPlan& plan = agent::plan();
  const ProcessFile* process = process_file();
  for (uint32_t i = 0; process && i < plan.plan->hook_count; ++i) {
    if (plan.hooks[i].entry + process->driver_base != address) continue;
    const DriverFunction* function = driver_function(plan.hooks[i].function);
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

bool followed(uintptr_t instruction) {
  const Plan& plan = *agent::plan().plan;
  const auto* places = reinterpret_cast<const FollowedPlace*>(agent::plan().hooks + plan.hook_count);
  uint32_t index = 0;
  if (guard_thread.driver || !guard_thread.slot || !stack_lock().try_lock()) return false;
  const ModuleRecord* module = find_module(instruction, &index);
  const FollowedPlace place =
      module ? FollowedPlace{module_identity(*module), instruction - module->bias} : FollowedPlace{};
  stack_lock().unlock();
  for (uint32_t i = 0; module && i < plan.followed_count; ++i)
    if (places[i].module == place.module && places[i].offset == place.offset) return true;
  return false;
}

int64_t now() {
  timespec time{};
  raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

void find_value_source() {
  if (plan().plan->followed_count == 0) return;
  for_each_image(
      [](const LoadedImage& image, void* to) {
        if (strstr(image.path, "libdiogenes-"))
          if (uintptr_t found = image.symbol(kValueSourceSymbol)) *static_cast<uintptr_t*>(to) = found;
      },
      &source);
  // A fifth of the run, and enough for a few values in the shortest.
  const ValueServices services{diogenes_copy,
                               diogenes_raw_syscall,
                               [](const ucontext_t* context) { return capture_interrupted_stack(context); },
                               [](const ValueRecord& record) { return append(record); },
                               code_of,
                               arguments_of,
                               followed,
                               now,
                               plan().plan->baseline_ns / 5 + 100'000'000};
  if (source && (source->bytes != sizeof *source || !source->start(services))) source = nullptr;
}

uint32_t registers_of_values() { return source ? kValueRegisters : 0; }

void follow_value(const TouchedValue& value, ucontext_t* context) {
  if (!source) return;
  Undispatched undispatched;
  source->touched(value, context);
}

bool take_value_trap(const siginfo_t* info, ucontext_t* context) {
  if (!source) return false;
  Undispatched undispatched;
  return source->trap(info, context);
}

void value_to_system_call(AddressRange memory, ucontext_t* context) {
  if (source) source->system_call(memory, context);
}

void interrupt_values(ucontext_t* context) {
  if (source) source->interrupted(context);
}

void finish_values() {
  if (source) source->finish();
}

void forget_values() {
  if (source) source->forget();
}

}  // namespace diogenes::agent
