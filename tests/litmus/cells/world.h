// What all cells share: device memory, streams, events, threads, and a second context.
#pragma once
#include <cuda.h>
#include <sched.h>
#include <semaphore.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "gpu.h"

namespace litmus {

// One thread lets another go on; who waits sleeps at once.
class Semaphore {
 public:
  void release() { sem_post(&semaphore_); }
  void acquire() {
    while (sem_wait(&semaphore_) != 0) {
    }
  }
  // Until somebody is in acquire(). glibc counts who waits in the upper half of the semaphore; the tool took
  // note before that.
  void await_sleeper() const {
    while (reinterpret_cast<const std::atomic<uint64_t>&>(semaphore_).load() >> 32 == 0) sched_yield();
  }
  Semaphore() { sem_init(&semaphore_, 0, 0); }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

 private:
  sem_t semaphore_;
};

// A thread that is there from the start, and does what it is asked to while the asking one waits. Else it sleeps:
// a thread that was just about to could touch whatever stands open.
class Worker {
 public:
  void start(CUcontext context);  // current there; null: none
  void run(std::function<void()> work) {
    work_ = std::move(work);
    asked_.release();
    answered_.acquire();
    asked_.await_sleeper();
  }

 private:
  Semaphore asked_, answered_;
  std::function<void()> work_;
};

// A context beside the primary one, with a stream, memory and the kernel of its own; of another device, where
// there are two.
struct Foreign {
  CUcontext context = nullptr;
  CUstream stream = nullptr;  // non-blocking
  CUevent event = nullptr;
  CUdeviceptr device = 0;
  CUfunction kernel = nullptr;

  Foreign();
  void fill(CUdeviceptr destination, uint32_t value, size_t words, uint64_t busy_us) const;
};

struct World {
  example::Gpu gpu;  // in the primary context
  CUdeviceptr device = 0, other = 0, result = 0;
  CUfunction copy_as_told = nullptr;
  CUstream first = nullptr, second = nullptr;  // non-blocking
  CUevent event = nullptr, between = nullptr;
  uint32_t* pinned = nullptr;  // for results and fills
  int pipe[2] = {-1, -1};
  Worker reader;  // without a context
  Worker helper;  // with the primary one
  World();
};
extern World* world;
Foreign& foreign();  // made at its first use

// The context is current as long as this lives.
struct Within {
  explicit Within(CUcontext context) { CHECK(cuCtxPushCurrent(context)); }
  ~Within() { CHECK(cuCtxPopCurrent(nullptr)); }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
};

uint64_t sum(const uint32_t* data, size_t count);
inline CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace litmus
