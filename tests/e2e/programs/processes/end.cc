// end HOW: uses CUDA, leaves a result unread, and ends in this way.
#include <signal.h>

#include <cstring>
#include <stdexcept>
#include <thread>

#include "cuda_user.h"

static void crash() {
  volatile uintptr_t nowhere = 8;
  *reinterpret_cast<volatile int*>(nowhere) = 1;
}

int main(int, char** argv) {
  CudaUser user;
  uint32_t* read = CudaUser::pinned();
  user.compute_pinned(read, 21);
  say("read %lu\n", static_cast<unsigned long>(sum(read)));
  user.compute_pinned(CudaUser::pinned(), 22);
  printf("in a buffer of stdio\n");
  atexit([] { say("atexit\n"); });
  at_quick_exit([] { say("at_quick_exit\n"); });

  const char* how = argv[1];
  if (strcmp(how, "return") == 0) return 17;
  if (strcmp(how, "exit") == 0) exit(18);
  if (strcmp(how, "_exit") == 0) _exit(19);
  if (strcmp(how, "quick_exit") == 0) quick_exit(20);
  if (strcmp(how, "segv") == 0) crash();
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "throw") == 0) throw std::runtime_error("nobody catches this");
  if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(how, "term") == 0) kill(getpid(), SIGTERM);
  if (strcmp(how, "thread-exit") == 0) std::thread([] { exit(21); }).join();
  if (strcmp(how, "thread-segv") == 0) std::thread(crash).join();
  return 90;
}
