// Processes that end or begin at awkward moments:
//   handler  a timer's handler ends the program by _exit, wherever that is
//   vfork    a child that cannot execute anything ends by _exit, in its parent's memory
//   locks    one thread copies to the heap, another forks; each child frees memory and ends
//   asleep   a handler forks, and has interrupted a system call; the child comes back into that
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cuda_user.h"

namespace {

int by_handler(CudaUser& user) {
  signal(SIGALRM, [](int) { _exit(7); });
  timeval now{};
  gettimeofday(&now, nullptr);
  ualarm(static_cast<useconds_t>(20'000 + now.tv_usec % 20'000), 0);
  std::vector<std::vector<char>> results(16, std::vector<char>(kBytes));
  for (size_t i = 0;; i = (i + 1) % results.size()) {
    user.compute(results[i].data(), 1);
    ++results[i][0];
  }
}

int status_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int by_vfork(CudaUser& user) {
  uint32_t* result = CudaUser::pinned();
  for (uint32_t i = 0; i < 3; ++i) user.compute_pinned(result, i);
  const pid_t child = vfork();
  if (child == 0) {
    execl("/nonexistent", "nonexistent", nullptr);
    _exit(127);
  }
  say("child: %d\n", status_of(child));
  uint64_t total = 0;
  for (uint32_t i = 0; i < 50; ++i) {
    user.compute_pinned(result, i);
    total += sum(result);
  }
  say("%lu\n", total);
  return 0;
}

int with_locks(CudaUser& user) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    user.use_on_this_thread();
    std::vector<char> result(kBytes);
    while (!done) user.compute(result.data(), 1);
  });
  int odd = 0;
  for (int i = 0; i < 60; ++i) {
    auto* block = static_cast<char*>(malloc(kBytes));
    memset(block, 1, kBytes);
    user.compute(block, 2);
    const pid_t child = fork();
    if (child == 0) {
      free(block);
      i % 2 == 0 ? _exit(3) : exit(3);
    }
    odd += status_of(child) != 3;
    free(block);
  }
  done = true;
  other.join();
  say("odd: %d\n", odd);
  return 0;
}

volatile pid_t forked = -1;

int while_asleep(CudaUser& user) {
  uint32_t* result = CudaUser::pinned();
  user.compute_pinned(result, 1);
  signal(SIGALRM, [](int) { forked = fork(); });
  ualarm(20'000, 0);
  const timespec nap{1, 0};
  nanosleep(&nap, nullptr);
  if (forked == 0) _exit(7);
  say("child: %d\n%lu\n", status_of(forked), sum(result));
  return 0;
}

}  // namespace

int main(int, char** arguments) {
  const std::string how = arguments[1];
  CudaUser user;
  if (how == "handler") return by_handler(user);
  if (how == "vfork") return by_vfork(user);
  if (how == "locks") return with_locks(user);
  return while_asleep(user);
}
