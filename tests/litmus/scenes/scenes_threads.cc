// Scenes in which a result goes to another thread.
#include <functional>
#include <optional>
#include <thread>

#include "hand_over.h"
#include "shared.h"

namespace scenes {
namespace {

enum class What { pinned, heap, managed, reuse, launch };

struct HandOver {
  How how;
  What what;
  bool again = false;  // the first thread happens to wait for later work before the use
  // The tested call: the wait for a stream, or the download to the heap.
  std::function<void(uint32_t* heap)> wait;
};

struct HeapBlock {
  uint32_t* words = new uint32_t[kSmallWords]();
  ~HeapBlock() {
    tell_gone(words, kSmallWords * 4);
    delete[] words;
  }
};

// What the first thread gives the GPU to do.
void give_work(What what, uint32_t* host, uint32_t value, CUstream stream) {
  Shared& s = *shared;
  if (what == What::managed) {
    s.gpu.fill(address(host), value, kWords, kBusyUs, stream);
    return;
  }
  s.gpu.fill(s.device, what == What::reuse ? 0 : value, kWords, kBusyUs, stream);
  if (what == What::pinned) CHECK(cuMemcpyDtoHAsync(host, s.device, kBytes, stream));
  if (what == What::reuse) CHECK(cuMemcpyHtoDAsync(s.device, host, kBytes, stream));
}

// What the second thread does with it.
uint64_t use(What what, uint32_t* host, size_t words) {
  Shared& s = *shared;
  if (what == What::reuse) {
    set(host, words, 0xdead);
  } else if (what == What::launch) {
    CHECK(cuCtxSetCurrent(s.context));
    s.gpu.copy(s.result, s.device, kWords, 10, s.second);
    CHECK(cuStreamSynchronize(s.second));
  } else {
    return sum(host, words);
  }
  return 0;
}

uint64_t play(const HandOver& h, uint32_t value) {
  Shared& s = *shared;
  Baton baton(h.how);
  Chance chance;
  Pinned pinned;
  std::optional<Managed> managed;
  if (h.what == What::managed) managed.emplace();
  HeapBlock heap;
  uint32_t* const host = managed ? managed->words : h.what == What::heap ? heap.words : pinned.words;
  const CUstream stream = h.what == What::heap ? nullptr : s.first;
  if (h.what == What::reuse) set(host, kWords, value);
  uint64_t seen = 0;
  std::thread second([&] {
    baton.take();
    if (h.again) chance.before_second();
    seen = use(h.what, host, h.what == What::heap ? kSmallWords : kWords);
    chance.after_second();
  });
  give_work(h.what, host, value, stream);
  h.wait(heap.words);
  baton.give();
  if (h.again) {
    chance.before_first();
    s.gpu.fill(s.other, 1, 16, kBusyUs, stream);
    CHECK(cuStreamSynchronize(stream));
    chance.after_first();
  }
  second.join();
  finish();
  if (h.what == What::reuse) seen = device_sum(s.device, kWords);
  if (h.what == What::launch) seen = device_sum(s.result, kWords);
  return seen;
}

uint64_t play_misplaced(How how, uint32_t value, const std::function<void()>& wait) {
  Shared& s = *shared;
  Baton baton(how);
  Pinned pinned;
  uint64_t seen = 0;
  std::thread second([&] {
    baton.take();
    seen = sum(pinned.words, kWords);
  });
  download(pinned.words, value, s.first);
  wait();
  baton.give();
  example::host_work(kLateUs, 1);
  const uint64_t later = sum(pinned.words, kWords);
  second.join();
  finish();
  return seen * 3 + later;
}

}  // namespace

#define HAND(how, what, suffix, is_again)                                                             \
  uint64_t hand_##how##_##what##suffix(uint32_t value) {                                              \
    return play(                                                                                      \
        {How::how, What::what, is_again,                                                              \
         [](uint32_t*) { TESTED(hand_##how##_##what##suffix, cuStreamSynchronize, shared->first); }}, \
        value);                                                                                       \
  }
#define HAND_HEAP(how, suffix, is_again)                                                                   \
  uint64_t hand_##how##_heap##suffix(uint32_t value) {                                                     \
    return play({How::how, What::heap, is_again,                                                           \
                 [](uint32_t* heap) {                                                                      \
                   TESTED(hand_##how##_heap##suffix, cuMemcpyDtoH, heap, shared->device, kSmallWords * 4); \
                 }},                                                                                       \
                value);                                                                                    \
  }
#define HAND_ALL(how, suffix, is_again) \
  HAND(how, pinned, suffix, is_again)   \
  HAND_HEAP(how, suffix, is_again)      \
  HAND(how, managed, suffix, is_again)  \
  HAND(how, reuse, suffix, is_again)    \
  HAND(how, launch, suffix, is_again)
#define HANDS_OVER(how)                                                                         \
  HAND_ALL(how, , false)                                                                        \
  HAND_ALL(how, _again, true)                                                                   \
  uint64_t misplaced_##how(uint32_t value) {                                                    \
    return play_misplaced(How::how, value,                                                      \
                          [] { TESTED(misplaced_##how, cuStreamSynchronize, shared->first); }); \
  }
HANDS_OVER(condition)
HANDS_OVER(semaphore)
HANDS_OVER(mutex)
HANDS_OVER(rwlock)
HANDS_OVER(barrier)
HANDS_OVER(futex)
HANDS_OVER(flag)

uint64_t late_post(uint32_t value) {
  Baton baton(How::semaphore);
  Pinned pinned;
  uint64_t seen = 0;
  std::thread second([&] {
    baton.take();
    seen = sum(pinned.words, kWords);
  });
  download(pinned.words, value, shared->first);
  TESTED(late_post, cuStreamSynchronize, shared->first);
  example::host_work(kLateUs, 1);
  baton.give();
  second.join();
  finish();
  return seen;
}

uint64_t thread_start(uint32_t value) {
  Pinned pinned;
  uint64_t seen = 0;
  download(pinned.words, value, shared->first);
  TESTED(thread_start, cuStreamSynchronize, shared->first);
  std::thread([&] { seen = sum(pinned.words, kWords); }).join();
  finish();
  return seen;
}

uint64_t thread_end(uint32_t value) {
  Pinned pinned;
  std::thread([&] {
    CHECK(cuCtxSetCurrent(shared->context));
    download(pinned.words, value, shared->first);
    TESTED(thread_end, cuStreamSynchronize, shared->first);
  }).join();
  const uint64_t seen = sum(pinned.words, kWords);
  finish();
  return seen;
}

namespace {

// Both threads wait by themselves, and both read. The second one waits for the context, which a driver enters
// even when all is done. Who waits first makes the data true for both: on the adversarial driver that is the
// one whose wait is tested.
uint64_t play_both(uint32_t value, bool second_is_tested, const std::function<void()>& first_wait,
                   const std::function<void()>& second_wait) {
  Shared& s = *shared;
  Baton submitted(How::semaphore);
  Chance chance(is_late() && second_is_tested);
  Pinned pinned;
  uint64_t by_first = 0, by_second = 0;
  std::thread second([&] {
    CHECK(cuCtxSetCurrent(s.context));
    submitted.take();
    chance.before_second();
    second_wait();
    by_second = sum(pinned.words, kWords);
    chance.after_second();
  });
  download(pinned.words, value, s.first);
  CHECK(cuEventRecord(s.event, s.first));
  s.gpu.fill(s.other, 1, 16, kBusyUs, s.first);
  submitted.give();
  chance.before_first();
  first_wait();
  by_first = sum(pinned.words, kWords);
  chance.after_first();
  second.join();
  finish();
  return by_first * 3 + by_second;
}

}  // namespace

uint64_t both_read_first(uint32_t value) {
  return play_both(
      value, false, [] { TESTED(both_read_first, cuEventSynchronize, shared->event); },
      [] { CHECK(cuStreamSynchronize(shared->first)); });
}
uint64_t both_read_second(uint32_t value) {
  return play_both(
      value, true, [] { CHECK(cuEventSynchronize(shared->event)); },
      [] { TESTED(both_read_second, cuCtxSynchronize); });
}

namespace {

uint64_t play_unrelated(uint32_t value, const std::function<void()>& wait,
                        const std::function<void()>& unrelated_wait) {
  Shared& s = *shared;
  Baton baton(How::semaphore);
  Chance chance;
  std::atomic<bool> has_waited{false};
  Pinned pinned;
  uint64_t seen = 0;
  std::thread second([&] {
    baton.take();
    chance.before_second();
    seen = sum(pinned.words, kWords);
    chance.after_second();
  });
  std::thread unrelated([&] {
    CHECK(cuCtxSetCurrent(s.context));
    while (!has_waited.load()) usleep(20);
    chance.before_first();
    unrelated_wait();
    chance.after_first();
  });
  download(pinned.words, value, s.first);
  wait();
  s.gpu.fill(s.other, 1, 16, kBusyUs, s.second);
  has_waited.store(true);
  baton.give();
  second.join();
  unrelated.join();
  finish();
  return seen;
}

// A log that several threads write to.
class Log {
 public:
  void write(uint64_t number) {
    pthread_mutex_lock(&mutex_);
    sum_ += number;
    pthread_mutex_unlock(&mutex_);
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  uint64_t sum_ = 0;
};

uint64_t play_log(uint32_t value, const std::function<void()>& first_wait,
                  const std::function<void()>& second_wait) {
  Shared& s = *shared;
  Baton submitted(How::semaphore);
  Chance chance;
  Log log;
  Pinned pinned;
  uint64_t seen = 0;
  std::thread second([&] {
    CHECK(cuCtxSetCurrent(s.context));
    submitted.take();
    chance.before_second();
    log.write(2);
    second_wait();
    seen = sum(pinned.words, kWords);
    chance.after_second();
  });
  download(pinned.words, value, s.first);
  CHECK(cuEventRecord(s.event, s.first));
  s.gpu.fill(s.other, 1, 16, kBusyUs, s.first);
  submitted.give();
  chance.before_first();
  first_wait();
  log.write(1);
  chance.after_first();
  second.join();
  finish();
  return seen;
}

}  // namespace

uint64_t unrelated_between(uint32_t value) {
  return play_unrelated(
      value, [] { TESTED(unrelated_between, cuStreamSynchronize, shared->first); },
      [] { CHECK(cuCtxSynchronize()); });
}
uint64_t unrelated_itself(uint32_t value) {
  return play_unrelated(
      value, [] { CHECK(cuStreamSynchronize(shared->first)); },
      [] { TESTED(unrelated_itself, cuCtxSynchronize); });
}
uint64_t log_own_wait(uint32_t value) {
  return play_log(
      value, [] { CHECK(cuEventSynchronize(shared->event)); },
      [] { TESTED(log_own_wait, cuCtxSynchronize); });
}
uint64_t log_first_wait(uint32_t value) {
  return play_log(
      value, [] { TESTED(log_first_wait, cuEventSynchronize, shared->event); },
      [] { CHECK(cuStreamSynchronize(shared->first)); });
}

}  // namespace scenes
