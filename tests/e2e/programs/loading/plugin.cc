// unload's plugin: a library that uses the GPU, with results of its own in its data.
#include "cuda_user.h"

static uint32_t in_library[kWords];
static CudaUser* user;

extern "C" unsigned long plugin_run(unsigned value) {
  if (!user) user = new CudaUser;
  user->compute(in_library, value);
  user->compute(in_library, value + 1);  // nobody reads this one before the library goes
  return sum(in_library);
}
