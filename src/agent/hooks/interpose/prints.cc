// vfprintf: what kernels print comes out inside calls that wait, on the calling thread, and the driver prints
// it with this (docs/driver-facts.md). A call that does so is noted: without its wait the output would come
// later.
#include <stdarg.h>
#include <stdio.h>

#include "agent/core/thread_state.h"
#include "agent/hooks/interpose/next.h"
#include "agent/watching/guard/threads/threads.h"

namespace {

using namespace diogenes::agent;

Next<int(FILE*, const char*, va_list)> next_vfprintf("vfprintf");

__attribute__((constructor)) void look_up() { next_vfprintf.get(); }

}  // namespace

extern "C" __attribute__((visibility("default"))) int vfprintf(FILE* file, const char* format,
                                                               va_list arguments) {
  ThreadState& state = thread_state;
  if (state.public_depth > 0 && in_driver_code(reinterpret_cast<uintptr_t>(__builtin_return_address(0))))
      [[unlikely]]
    state.printed = true;
  auto* next = next_vfprintf.get();
  return next ? next(file, format, arguments) : -1;  // dlsym itself prints nothing
}
