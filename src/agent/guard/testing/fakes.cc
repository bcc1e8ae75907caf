// What the agent gives the guards, for tests: stacks are the interrupted instruction, and every stage guards, and no record is kept.
#include "agent/facts/collector.h"
#include "agent/recorder.h"
#include "agent/stack.h"
#include "agent/stage.h"

namespace diogenes::agent {

uint32_t capture_interrupted_stack(const ucontext_t* context, uint32_t back) {
  return static_cast<uint32_t>(context->uc_mcontext.gregs[REG_RIP] - back) | 1;
}

bool stage_uses_guards() { return true; }

// Nothing is recorded here.
bool append(const WatchRecord&) { return true; }
bool append(const TouchRecord&) { return true; }
bool append(const UnwatchRecord&) { return true; }
bool is_appending() { return false; }
uint32_t own_thread_file() { return 0; }
void count_drop(Drop) {}
bool records_facts() { return false; }
bool facts::may_be_dirty(AddressRange) { return false; }
void facts::note_release(AddressRange) {}

}  // namespace diogenes::agent
