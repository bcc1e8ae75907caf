// free: memory that is given back was released, not used. Its guards come down before the allocator, which
// writes into what it is given, or unmaps it. realloc uses it: the content goes on living. One load where no
// guard is up.
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "agent/core/running_stage.h"
#include "agent/core/thread_state.h"
#include "agent/hooks/interpose/next.h"
#include "agent/watching/facts/fact_collector.h"
#include "agent/watching/guard/guards.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

// glibc's own, for the time in which the next library in line is being looked up.
extern "C" __attribute__((weak)) void* __libc_realloc(void*, size_t) noexcept;

namespace {

using namespace diogenes::agent;

Next<void(void*)> next_free("free");
Next<void*(void*, size_t)> next_realloc("realloc");
Next<void*(void*, size_t, size_t)> next_reallocarray("reallocarray");
Next<size_t(void*)> next_usable_size("malloc_usable_size");
// Of the same allocator as free(). Null: it has none, and another's would read what is not there.
size_t (*usable_size)(void*) = nullptr;

__attribute__((constructor)) void look_up() {
  next_free.get(), next_realloc.get(), next_reallocarray.get();
  Dl_info of_free, of_size;
  auto* size = next_usable_size.get();
  if (size && dladdr(reinterpret_cast<void*>(next_free.get()), &of_free) &&
      dladdr(reinterpret_cast<void*>(size), &of_size) && of_free.dli_fbase == of_size.dli_fbase)
    usable_size = size;
}

inline void open_block(void* block, TouchBy by) {
  if (!any_guard_up() || !block) return;
  KeepErrno keep;
  size_t bytes = usable_size ? usable_size(block) : 0;
  auto begin = reinterpret_cast<uintptr_t>(block);
  open_range(diogenes::AddressRange::of(begin, bytes ? bytes : 1), by);
}

}  // namespace

// Memory that GPU work was given to is given back.
inline void note_freed(void* block) {
  if (!stage_uses_guards() || !block) return;
  auto begin = reinterpret_cast<uintptr_t>(block);
  if (!facts::may_be_dirty(diogenes::AddressRange::of(begin, 1))) return;
  KeepErrno keep;
  size_t bytes = usable_size ? usable_size(block) : 0;
  facts::note_release(diogenes::AddressRange::of(begin, bytes ? bytes : 1));
}

EXPORTED void free(void* block) noexcept {
  open_block(block, TouchBy::gone);
  note_freed(block);
  if (auto* next = next_free.get()) next(block);  // else: dlsym's own, a few bytes that stay
}

EXPORTED void cfree(void* block) noexcept { free(block); }

EXPORTED void* realloc(void* block, size_t bytes) noexcept {
  open_block(block, TouchBy::program);
  if (auto* next = next_realloc.get()) return next(block, bytes);
  return __libc_realloc ? __libc_realloc(block, bytes) : nullptr;
}

EXPORTED void* reallocarray(void* block, size_t count, size_t bytes) noexcept {
  open_block(block, TouchBy::program);
  if (auto* next = next_reallocarray.get()) return next(block, count, bytes);
  size_t total = 0;
  if (__builtin_mul_overflow(count, bytes, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(block, total);
}
