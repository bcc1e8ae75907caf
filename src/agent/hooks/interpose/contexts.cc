// swapcontext, setcontext: the stack of a coroutine is never guarded, also while nobody runs on it.
#include <errno.h>
#include <ucontext.h>

#include "agent/core/running_stage.h"
#include "agent/hooks/interpose/next.h"
#include "agent/watching/guard/guards.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

using namespace diogenes::agent;

Next<int(ucontext_t*, const ucontext_t*)> next_swapcontext("swapcontext");
Next<int(const ucontext_t*)> next_setcontext("setcontext");

__attribute__((constructor)) void look_up() { next_swapcontext.get(), next_setcontext.get(); }

inline void note_stack(const ucontext_t* context) {
  if (!stage_uses_guards() || !context->uc_stack.ss_sp) return;
  note_coroutine_stack(diogenes::AddressRange::of(reinterpret_cast<uintptr_t>(context->uc_stack.ss_sp),
                                                  context->uc_stack.ss_size));
}

}  // namespace

EXPORTED int swapcontext(ucontext_t* from, const ucontext_t* to) noexcept {
  note_stack(to);
  if (auto* next = next_swapcontext.get()) return next(from, to);
  errno = ENOSYS;
  return -1;
}

EXPORTED int setcontext(const ucontext_t* to) noexcept {
  note_stack(to);
  if (auto* next = next_setcontext.get()) return next(to);
  errno = ENOSYS;
  return -1;
}
