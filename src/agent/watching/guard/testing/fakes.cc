// What the agent gives the guards, for tests: stacks are the interrupted instruction, every stage guards, and
// nothing is recorded.
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/core/stacks/stack.h"
#include "agent/watching/facts/fact_collector.h"
#include "agent/watching/order/order.h"
#include "agent/watching/order/thread.h"

namespace diogenes::agent {

uint32_t capture_interrupted_stack(const ucontext_t* context, uint32_t back) {
  return static_cast<uint32_t>(context->uc_mcontext.gregs[REG_RIP] - back) | 1;
}

bool stage_uses_guards() { return true; }
bool stage_follows_threads() { return true; }

// Nothing is recorded here.
bool append_record(const void*, OperationId*) { return true; }
bool is_appending() { return false; }
uint32_t own_thread_file() { return 0; }
void count_drop(Drop) {}
thread_local constinit ThreadState thread_state;
bool facts::may_be_dirty(AddressRange) { return false; }
void facts::note_release(AddressRange) {}
std::atomic<bool> order_wanted{false}, order_followed{false};
thread_local constinit OrderThread order_thread;
int64_t begin_sleep() { return 0; }
Blocked end_sleep(int64_t) { return {}; }
void before_thread_start(ThreadStart&) {}
void note_thread_handle(uint64_t, uint32_t, bool) {}
void begin_ordered_thread(const ThreadStart&) {}
void note_detached(uint64_t) {}
uint32_t number_of_thread(uint64_t) { return 0; }
void after_join(uint64_t, uint32_t, Blocked) {}

}  // namespace diogenes::agent
