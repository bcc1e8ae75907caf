// What the agent gives the guards, for tests: stacks are the interrupted instruction, and every stage guards.
#include "agent/stack.h"
#include "agent/stage.h"

namespace diogenes::agent {

uint32_t capture_interrupted_stack(const ucontext_t* context, uint32_t back) {
  return static_cast<uint32_t>(context->uc_mcontext.gregs[REG_RIP] - back) | 1;
}

bool stage_uses_guards() { return true; }

}  // namespace diogenes::agent
