// Schedules of threads that wait for each other: what one of them gains, the others pass on or absorb.
#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "schedule.h"

namespace schedules {
namespace {

// A box for one number: who puts waits until it is empty, who takes until it is full.
class Box {
 public:
  explicit Box(size_t room) : room_(room) {}
  void put(int value) {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [&] { return values_.size() < room_; });
    values_.push_back(value);
    put_.notify_one();
  }
  int take() {
    std::unique_lock lock(mutex_);
    put_.wait(lock, [&] { return !values_.empty(); });
    const int value = values_.front();
    values_.pop_front();
    taken_.notify_one();
    return value;
  }

 private:
  const size_t room_;
  std::mutex mutex_;
  std::condition_variable put_, taken_;
  std::deque<int> values_;
};

CUcontext current_context() {
  CUcontext context = nullptr;
  CHECK(cuCtxGetCurrent(&context));
  return context;
}

}  // namespace

// A step of training: the main thread gives the forward pass, a second thread gives the backward pass while the main
// thread waits for it, then the main thread asks for the loss at once. What each thread does is CPU work of the step;
// without the wait it is done while the GPU is busy. The second thread sleeps for 260 us a step, and 155 without the wait: not
// for about 200, where the host of a virtual machine takes its processor away or does not.
void backward(Run& run) {
  const CUcontext context = current_context();
  const CUdeviceptr data = device_words();
  Box start(1), done(1);
  std::thread other([&] {
    CHECK(cuCtxSetCurrent(context));
    for (int step = start.take(); step >= 0; step = start.take()) {
      work(80);
      run.gpu.fill(data, static_cast<uint32_t>(step), kWords, 150);
      work(40);
      done.put(step);
    }
  });
  for (int step = 0; step < run.iterations; ++step) {
    work(60);
    run.gpu.fill(data, static_cast<uint32_t>(step), kWords, 100);
    start.put(step);
    done.take();
    if (!run.fixed) CHECK(cuCtxSynchronize());  // FIXED
    work(80);
  }
  start.put(-1);
  other.join();
  report(data);
}

// One thread makes items and another gives them to the GPU, with a queue between. The second waits without need. It is
// the slower one until it does not: then the first is, and takes up a part of the gain.
void queue(Run& run) {
  const CUcontext context = current_context();
  const CUdeviceptr data = device_words();
  Box items(4);
  std::thread consumer([&] {
    CHECK(cuCtxSetCurrent(context));
    for (int item = items.take(); item >= 0; item = items.take()) {
      work(60);
      run.gpu.fill(data, static_cast<uint32_t>(item), kWords, 140);
      if (!run.fixed) CHECK(cuCtxSynchronize());  // FIXED
      work(50);
    }
  });
  const CUdeviceptr own = device_words();
  for (int item = 0; item < run.iterations; ++item) {
    work(180);
    if (item % 100 == 0) CHECK(cuMemsetD32(own, static_cast<unsigned>(item), 64));
    items.put(item);
  }
  items.put(-1);
  consumer.join();
  report(data);
}

// Four workers meet at a barrier in each round. The waits of two are not needed: the round gets shorter by what the
// slowest of all gains, and no more.
void pool(Run& run) {
  constexpr unsigned kWorkers = 4;
  const CUcontext context = current_context();
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, kWorkers);
  std::vector<CUdeviceptr> data;
  std::vector<CUstream> streams;
  for (unsigned w = 0; w < kWorkers; ++w) data.push_back(device_words()), streams.push_back(stream());
  const auto body = [&](unsigned w) {
    CHECK(cuCtxSetCurrent(context));
    for (int round = 0; round < run.iterations; ++round) {
      run.gpu.fill(data[w], static_cast<uint32_t>(round), kWords, 40 + 40 * w, streams[w]);
      if (w >= 2 && !run.fixed) CHECK(cuStreamSynchronize(streams[w]));  // FIXED
      work(150 + 20 * w);
      pthread_barrier_wait(&barrier);
    }
    CHECK(cuStreamSynchronize(streams[w]));
  };
  std::vector<std::thread> others;
  for (unsigned w = 1; w < kWorkers; ++w) others.emplace_back(body, w);
  body(0);
  for (std::thread& other : others) other.join();
  pthread_barrier_destroy(&barrier);
  for (const CUdeviceptr each : data) report(each);
}

}  // namespace schedules
