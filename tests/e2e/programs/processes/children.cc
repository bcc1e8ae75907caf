// children only|several|daemon: CUDA is used in forked processes alone, whose parent has the driver loaded:
// one; three that work for different times; one that has left its session, and whose parent is gone.
#include <sys/wait.h>

#include <cstring>
#include <initializer_list>

#include "cuda_user.h"

// As many waits that nobody needs, and one that is.
static void work(const char* who, uint32_t rounds) {
  CudaUser user;
  uint32_t* result = CudaUser::pinned();
  for (uint32_t round = 0; round < rounds; ++round) user.compute_pinned(result, round);
  say("%s: %lu\n", who, static_cast<unsigned long>(sum(result)));
}

static pid_t start(const char* who, uint32_t rounds) {
  const pid_t child = fork();
  if (child != 0) return child;
  work(who, rounds);
  exit(0);
}

static void reap(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) say("a child ended with %d\n", status);
}

static void daemon() {
  int ends[2];
  if (pipe(ends) != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    close(ends[0]);
    work("daemon", 10);
    exit(0);  // closes the pipe
  }
  close(ends[1]);
  reap(child);
  char byte;
  say("the daemon has ended: %zd\n", read(ends[0], &byte, 1));
}

int main(int, char** argv) {
  if (strcmp(argv[1], "only") == 0) reap(start("child", 10));
  if (strcmp(argv[1], "several") == 0)
    for (uint32_t rounds : {3u, 10u, 30u}) reap(start("child", rounds));
  if (strcmp(argv[1], "daemon") == 0) daemon();
  return 0;
}
