// Results in front of a lock that threads wait for, whose words the kernel reads and writes; and results of a stream that is
// gone before its work is done.
#include <pthread.h>

#include <thread>

#include "cuda_user.h"

namespace {

CudaUser* user;

uint64_t before_a_lock(uint32_t value) {
  struct Shared {
    uint32_t result[kWords];
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    int rounds = 0;
  };
  static auto* shared = new Shared;
  shared->rounds = 0;
  const auto take_turns = [](int mine) {
    pthread_mutex_lock(&shared->lock);
    for (int i = 0; i < 5; ++i) {
      while (shared->rounds % 2 != mine) pthread_cond_wait(&shared->changed, &shared->lock);
      ++shared->rounds;
      pthread_cond_signal(&shared->changed);
    }
    pthread_mutex_unlock(&shared->lock);
  };
  user->compute(shared->result, value);
  std::thread other([&] { take_turns(1); });
  take_turns(0);
  other.join();
  CHECK(cuCtxSynchronize());
  return sum(shared->result);
}

uint64_t from_a_stream_that_is_gone(uint32_t value) {
  static uint32_t* result = CudaUser::pinned();
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  user->begin_pinned(result, value, stream);
  CHECK(cuStreamDestroy(stream));
  CHECK(cuCtxSynchronize());
  return sum(result);
}

}  // namespace

int main() {
  user = new CudaUser;
  for (uint32_t i = 0; i < 8; ++i) {
    const uint64_t lock = before_a_lock(i), gone = from_a_stream_that_is_gone(i);
    say("%lu %lu\n", lock, gone);
  }
  return 0;
}
