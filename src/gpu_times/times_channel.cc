#include "gpu_times/times_channel.h"

#include <sched.h>
#include <sys/mman.h>

#include <cstring>

namespace diogenes {

void TimesChannel::Stack::push(Batch* batch) {
  Batch* top = top_.load(std::memory_order_relaxed);
  do {
    batch->next = top;
    // release: what is in the batch; pairs with the acquire in take_all().
  } while (!top_.compare_exchange_weak(top, batch, std::memory_order_release, std::memory_order_relaxed));
}

TimesChannel::Batch* TimesChannel::empty_batch() {
  if (!spare_) spare_ = empty_.take_all();
  if (!spare_) {
    void* memory = mmap(nullptr, sizeof(Batch), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    spare_ = static_cast<Batch*>(memory);
  }
  Batch* batch = spare_;
  spare_ = batch->next;
  batch->next = nullptr;
  batch->count = batch->taken = 0;
  return batch;
}

void TimesChannel::give(Batch* batch) { full_.push(batch); }

TimesChannel::Giver::Giver(TimesChannel& channel) : channel_(channel) {
  while (channel_.giving_.test_and_set(std::memory_order_acquire)) sched_yield();
}

TimesChannel::Giver::~Giver() {
  if (batch_) channel_.give(batch_);
  channel_.giving_.clear(std::memory_order_release);
}

void TimesChannel::Giver::add(const GpuTime& time) {
  if (!batch_) batch_ = channel_.empty_batch();
  if (!batch_) {
    channel_.lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  batch_->times[batch_->count++] = time;
  if (batch_->count < kBatch) return;
  channel_.give(batch_);
  batch_ = nullptr;
}

size_t TimesChannel::take(GpuTime* times, size_t most) {
  if (taking_.test_and_set(std::memory_order_acquire)) return 0;
  size_t count = 0;
  while (count < most) {
    if (!reading_) {
      Batch* newest = full_.take_all();
      while (newest) {  // the newest is on top: turned round
        Batch* older = newest->next;
        newest->next = reading_;
        reading_ = newest;
        newest = older;
      }
      if (!reading_) break;
    }
    Batch* batch = reading_;
    size_t step = batch->count - batch->taken;
    if (step > most - count) step = most - count;
    memcpy(times + count, batch->times + batch->taken, step * sizeof(GpuTime));
    batch->taken += step;
    count += step;
    if (batch->taken < batch->count) break;
    reading_ = batch->next;
    empty_.push(batch);
  }
  taking_.clear(std::memory_order_release);
  return count;
}

}  // namespace diogenes
