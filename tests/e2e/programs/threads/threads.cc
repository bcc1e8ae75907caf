// threads: threads from before CUDA and from after, which come and go, use CUDA at the same time, and read
// each other's results; one with all signals blocked; one detached that is still there at the end.
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <thread>
#include <vector>

#include "cuda_user.h"

// The first key that the program makes: what is the thread's own is empty in a new thread, and stays its own.
static std::atomic<int> not_ours = 0;
static const pthread_key_t first_key = [] {
  pthread_key_t key;
  if (pthread_key_create(&key, [](void*) { ++not_ours; }) != 0) abort();
  return key;
}();

int main() {
  std::atomic<CudaUser*> shared = nullptr;
  std::atomic<uint64_t> early = 0;
  std::thread from_before([&] {
    while (shared.load() == nullptr) std::this_thread::yield();
    shared.load()->use_on_this_thread();
    uint32_t* result = CudaUser::pinned();
    shared.load()->compute_pinned(result, 9);
    early = sum(result);
  });
  CudaUser user;
  shared = &user;
  from_before.join();
  say("thread from before: %lu\n", static_cast<unsigned long>(early));

  for (int round = 0; round < 3; ++round) {
    std::vector<uint64_t> sums(4);
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        if (pthread_getspecific(first_key)) ++not_ours;
        user.use_on_this_thread();
        auto* result = static_cast<uint32_t*>(malloc(kBytes));
        for (uint32_t n = 0; n < 5; ++n) {
          user.compute(result, n + i);
          sums[i] += sum(result);
        }
        free(result);
      });
    }
    for (auto& thread : threads) thread.join();
    for (uint32_t i = 0; i < 4; ++i)
      say("round %d thread %u: %lu\n", round, i, static_cast<unsigned long>(sums[i]));
  }

  say("found in new threads' own data: %d\n", not_ours.load());

  uint32_t* result = CudaUser::pinned();
  user.compute_pinned(result, 13);
  uint64_t read_by_other = 0;
  std::thread reader([&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    read_by_other = sum(result);
  });
  reader.join();
  say("read with all signals blocked: %lu\n", static_cast<unsigned long>(read_by_other));

  std::thread([] {
    for (;;) pause();
  }).detach();
  return 0;
}
