// The agent's way in and out of a process.
//
// In: the constructor runs before main when LD_PRELOAD brought the agent; it takes the plan, hooks the driver
// if that is linked, and asks the dynamic linker to be told of every later dlopen (its notification point for
// debuggers, r_brk), where the driver is hooked before the first call into it. Under CUDA_INJECTION64_PATH
// the driver itself loads the agent inside cuInit and calls InitializeInjection. Out: the destructor, _exit,
// or a kill, after which the trace is as it was then.
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "agent/core/lock.h"
#include "agent/core/pass_through.h"
#include "agent/core/recording/elf_image.h"
#include "agent/core/recording/module_map.h"
#include "agent/core/recording/process_folder.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/core/stacks/python_frames.h"
#include "agent/core/stacks/stack_table.h"
#include "agent/core/thread_state.h"
#include "agent/hooks/collector.h"
#include "agent/hooks/driver_image.h"
#include "agent/hooks/nvtx_ranges.h"
#include "agent/hooks/process_end.h"
#include "agent/hooks/windows.h"
#include "agent/hooks/x86_64/patcher.h"
#include "agent/watching/guard/guards.h"
#include "agent/watching/guard/system_calls/kernel.h"
#include "agent/watching/order/order.h"
#include "agent/watching/peer_memory.h"
#include "agent/watching/value_follower.h"

namespace diogenes::agent {

namespace {

std::atomic<bool> started{false};
long own_process = 0;  // kernel's id

r_debug* dynamic_linker_state() {
  auto* headers = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  auto count = getauxval(AT_PHNUM);
  uintptr_t bias = 0;
  for (unsigned i = 0; i < count; ++i)
    if (headers[i].p_type == PT_PHDR) bias = reinterpret_cast<uintptr_t>(headers) - headers[i].p_vaddr;
  for (unsigned i = 0; i < count; ++i) {
    if (headers[i].p_type != PT_DYNAMIC) continue;
    for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(bias + headers[i].p_vaddr); entry->d_tag != DT_NULL;
         ++entry)
      if (entry->d_tag == DT_DEBUG) return reinterpret_cast<r_debug*>(entry->d_un.d_ptr);
  }
  return nullptr;
}

// Called by the dynamic linker when its list begins to change and when it is consistent again; its lock is
// held.
void on_loader_event() {
  ThreadState& state = thread_state;
  if (!started.load(std::memory_order_relaxed) || state.pass > 0) return;
  r_debug* linker = dynamic_linker_state();
  if (!linker || linker->r_state != r_debug::RT_CONSISTENT) return;
  KeepErrno keep;
  PassThrough pass;
  enter_driver();
  hook_driver_if_mapped();
  if (process_folder()) update_modules();
  leave_driver();
}

void watch_loader() {
  r_debug* linker = dynamic_linker_state();
  if (!linker || !linker->r_brk) return;
  struct Search {
    uintptr_t address;
    AddressRange code;
  } search{linker->r_brk, {}};
  for_each_image(
      [](const LoadedImage& image, void* opaque) {
        auto* wanted = static_cast<Search*>(opaque);
        if (image.code().contains(wanted->address)) wanted->code = image.code();
      },
      &search);
  if (!search.code.empty()) hook_empty_function(search.address, search.code, on_loader_event);
}

void child_after_fork() {
  if (!started.load(std::memory_order_relaxed)) return;
  own_process = raw_syscall(SYS_getpid);
  Lock::free_all_in_child();
  forget_process_folder();
  forget_written_modules();
  forget_thread_files();
  forget_stacks();
  forget_python();
  forget_ranges();
  value_source->forget();
  forget_windows();
  restart_collecting_in_child();
}

void start() {
  if (started.load(std::memory_order_relaxed) || !load_plan()) return;
  KeepErrno keep;
  PassThrough pass;
  find_windows();
  start_collecting();
  find_python_source(extend_stack);
  find_value_source();
  if (stage_follows_threads()) start_order();
  if (stage_uses_guards()) {
    guard_sinks = {write_owed_order, order_by_futex, note_opening};
    follow_forks();
  }
  at_quick_exit([] { finish_process(ProcessEnd::orderly); });
  pthread_atfork(nullptr, nullptr, child_after_fork);
  watch_loader();
  own_process = raw_syscall(SYS_getpid);
  begin_windows();
  started.store(true, std::memory_order_relaxed);
  hook_driver_if_mapped();
  if (process_folder()) update_modules();
}

__attribute__((constructor)) void on_load() { start(); }

__attribute__((destructor)) void on_unload() { finish_process(ProcessEnd::orderly); }

}  // namespace

void finish_process(ProcessEnd end) {
  // A child of vfork() that ends in its parent's memory ends nothing.
  if (!started.load(std::memory_order_relaxed) || raw_syscall(SYS_getpid) != own_process) return;
  KeepErrno keep;
  // A handler of the program's may end the process inside a call of the driver's, or of the agent's.
  const ThreadState& state = thread_state;
  const bool inside = state.pass > 0 || state.public_depth > 0 || state.wait_depth > 0 || locks_held_here > 0;
  PassThrough pass;
  enter_driver();
  stop_collecting(end, inside);
  leave_driver();
}

}  // namespace diogenes::agent

// The driver calls this inside cuInit when CUDA_INJECTION64_PATH names the agent.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  using namespace diogenes::agent;
  start();
  PassThrough pass;
  hook_driver_if_mapped();
  if (process_folder()) {
    process_file()->used_cuda = 1;
    update_modules();
  }
  return 1;
}
