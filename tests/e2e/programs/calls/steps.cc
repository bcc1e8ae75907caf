// Steps that go on until a file is there, as a server's do: a launch and a copy each. Says at the end whether all that was copied
// back was right; how many steps that were, nobody can know.
#include <sys/stat.h>

#include "cuda_user.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  CudaUser user;
  static uint32_t data[kWords];
  bool right = true;
  struct stat there {};
  for (uint32_t step = 1; stat(argv[1], &there) != 0; ++step) {
    user.compute(data, step);
    for (uint32_t word : data) right = right && word == step;
  }
  say(right ? "all steps were right\n" : "a step was wrong\n");
  return right ? 3 : 4;
}
