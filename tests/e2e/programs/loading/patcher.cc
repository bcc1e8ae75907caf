// patcher [late]: the program patches the driver itself. Built twice: with the library that patches early,
// and without, where `late` patches in the middle of the work.
#include <cstring>

#include "cuda_user.h"
#include "patch.h"

int main(int count, char** argv) {
  CudaUser user;
  uint32_t* result = CudaUser::pinned();
  for (uint32_t i = 0; i < 6; ++i) {
    if (i == 3 && count > 1 && strcmp(argv[1], "late") == 0 && !patch_allocation()) return 89;
    user.compute_pinned(result, i);
    say("result %lu\n", static_cast<unsigned long>(sum(result)));
  }
  say("patched calls: %d\n", patched_calls());
  return 0;
}
