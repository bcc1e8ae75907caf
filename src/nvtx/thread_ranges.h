// What one thread has pushed and not yet popped. Each domain has a stack of its own, and of a stack only two numbers
// matter: how deep it is, and how deep it was when a range of the region's name was entered that no other of that name
// encloses. So stacks may be of any depth.
#pragma once
#include <cstdint>

#include "nvtx/nvtx_abi.h"

namespace diogenes::nvtx {

class ThreadRanges {
 public:
  // True: the thread enters the region here. `process`: its id; what was pushed before a fork is the parent's region.
  bool push(Domain domain, bool is_region, int32_t process) {
    Stack* stack = find(domain);
    if (!stack) return false;
    ++stack->depth;
    if (!is_region || is_inside(*stack, process)) return false;
    stack->entered_at = stack->depth;
    stack->process = process;
    return true;
  }

  // True: it leaves it. A pop without a push is ignored, as NVTX does.
  bool pop(Domain domain, int32_t process) {
    Stack* stack = find(domain);
    if (!stack || stack->depth == 0) return false;
    const bool leaves = is_inside(*stack, process) && stack->entered_at == stack->depth;
    if (stack->entered_at == stack->depth) stack->entered_at = 0;
    --stack->depth;
    return leaves;
  }

 private:
  static constexpr int kStacks = 8;  // domains with open ranges, at a time; those of more are not known

  struct Stack {
    Domain domain;
    uint32_t depth, entered_at;  // 0: not inside
    int32_t process;
  };

  static bool is_inside(const Stack& stack, int32_t process) {
    return stack.entered_at != 0 && stack.process == process;
  }

  // An empty one for a domain that has none; null: all are taken.
  Stack* find(Domain domain) {
    Stack* free = nullptr;
    for (Stack& stack : stacks_) {
      if (stack.depth > 0 && stack.domain == domain) return &stack;
      if (stack.depth == 0 && !free) free = &stack;
    }
    if (free) *free = {domain, 0, 0, 0};
    return free;
  }

  Stack stacks_[kStacks];
};

}  // namespace diogenes::nvtx
