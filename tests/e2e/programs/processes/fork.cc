// fork before|after|many: before CUDA is used (parent and child then use it), after (the child reads results
// that nobody has read before), or a parent with several children that all use CUDA at the same time.
#include <sys/wait.h>

#include <cstring>

#include "cuda_user.h"

static int reap(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void use_cuda(const char* who, uint32_t value) {
  CudaUser user;
  uint32_t* result = CudaUser::pinned();
  user.compute_pinned(result, value);
  say("%s: %lu\n", who, static_cast<unsigned long>(sum(result)));
}

static void before() {
  const pid_t child = fork();
  if (child == 0) {
    use_cuda("child", 2);
    _exit(4);
  }
  const int status = reap(child);
  use_cuda("parent", 3);
  say("child ended with %d\n", status);
}

static void after() {
  CudaUser user;
  auto* pageable = static_cast<uint32_t*>(malloc(kBytes));
  uint32_t* pinned = CudaUser::pinned();
  user.compute(pageable, 5);
  user.compute_pinned(pinned, 7);
  const pid_t child = fork();
  if (child == 0) {
    say("child reads pageable %lu\n", static_cast<unsigned long>(sum(pageable)));
    pageable[0] = 1;
    _exit(5);
  }
  const int status = reap(child);
  say("parent reads %lu and %lu, child ended with %d\n", static_cast<unsigned long>(sum(pageable)),
      static_cast<unsigned long>(sum(pinned)), status);
  user.compute(pageable, 6);
  say("parent goes on: %lu\n", static_cast<unsigned long>(sum(pageable)));
}

static void many() {
  pid_t children[3];
  for (uint32_t i = 0; i < 3; ++i) {
    children[i] = fork();
    if (children[i] == 0) {
      CudaUser user;
      uint32_t* result = CudaUser::pinned();
      uint64_t total = 0;
      for (uint32_t round = 0; round < 20; ++round) {
        user.compute_pinned(result, i + round);
        total += sum(result);
      }
      _exit(static_cast<int>(total / kWords % 100));
    }
  }
  for (uint32_t i = 0; i < 3; ++i) say("child %u ended with %d\n", i, reap(children[i]));
}

int main(int, char** argv) {
  if (strcmp(argv[1], "before") == 0) before();
  if (strcmp(argv[1], "after") == 0) after();
  if (strcmp(argv[1], "many") == 0) many();
  return 3;
}
