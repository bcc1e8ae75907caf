// late_reader's library (LATE_LIBRARY), and the program that loads it and never closes it: its destructor
// reads a result, when the measuring tool's own destructors may have run.
#include "cuda_user.h"

#ifdef LATE_LIBRARY
static uint32_t* result;
extern "C" void keep(uint32_t* memory) { result = memory; }
__attribute__((destructor)) static void read_late() {
  say("late: %lu\n", static_cast<unsigned long>(sum(result)));
}
#else
#include <dlfcn.h>
#include <libgen.h>

__attribute__((noinline)) static void wait_for_late_reader(CudaUser& user, uint32_t* memory) {
  user.compute_pinned(memory, 77);
  asm volatile("");
}

int main(int, char** argv) {
  char path[4096];
  snprintf(path, sizeof path, "%s/libe2e_late_reader.so", dirname(argv[0]));
  CudaUser user;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return 91;
  uint32_t* memory = CudaUser::pinned();
  reinterpret_cast<void (*)(uint32_t*)>(dlsym(library, "keep"))(memory);
  for (uint32_t i = 0; i < 10; ++i) user.compute_pinned(memory, i);  // nobody needs these
  wait_for_late_reader(user, memory);
  return 0;
}
#endif
