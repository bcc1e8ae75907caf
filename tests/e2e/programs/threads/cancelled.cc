// A thread that is to be cancelled reads results under a lock, where no call is a place to be cancelled in. What it reads is
// recorded, by the thousand.
#include <pthread.h>

#include <atomic>

#include "cuda_user.h"

namespace {

constexpr uint32_t kRounds = 3000;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
std::atomic<uint32_t> computed{0}, seen{0};
std::atomic<bool> is_to_be_cancelled{false};
uint32_t* result;
uint64_t total;

void* read_results(void*) {
  while (!is_to_be_cancelled) sched_yield();
  for (uint32_t i = 1; i <= kRounds; ++i) {
    while (computed < i) sched_yield();
    pthread_mutex_lock(&mutex);
    total += *static_cast<volatile uint32_t*>(result + 100);
    pthread_mutex_unlock(&mutex);
    seen = i;
  }
  pthread_testcancel();
  return nullptr;
}

}  // namespace

int main() {
  CudaUser user;
  result = CudaUser::pinned();
  pthread_t thread;
  if (pthread_create(&thread, nullptr, read_results, nullptr) != 0) return 97;
  pthread_cancel(thread);
  is_to_be_cancelled = true;
  for (uint32_t i = 1; i <= kRounds; ++i) {
    user.compute_pinned(result, i & 7);
    computed = i;
    while (seen < i) sched_yield();
  }
  void* ended = nullptr;
  pthread_join(thread, &ended);
  say("total %lu, cancelled: %d\n", total, ended == PTHREAD_CANCELED);
  return 0;
}
