#include "agent/necessity/effect.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "agent/driver_calls.h"
#include "agent/necessity/memory/regions.h"
#include "agent/necessity/state.h"
#include "agent/pass_through.h"

namespace diogenes::agent {

bool is_idle_role(const Call& call) {
  switch (call.driver->role) {
    case Role::initialize:
    case Role::query:
      return true;
    default:
      return false;
  }
}

bool operation_starts(const Call& call, const char* prefix) {
  return strncmp(call.driver->operation, prefix, strlen(prefix)) == 0;
}

bool operation_has(const Call& call, const char* part) {
  return strstr(call.driver->operation, part) != nullptr;
}

uint64_t current_context() {
  CUcontext context = nullptr;
  PassThrough pass;
  if (!driver_calls.ctx_get_current || driver_calls.ctx_get_current(&context) != CUDA_SUCCESS) return 0;
  return reinterpret_cast<uint64_t>(context);
}

}  // namespace diogenes::agent
