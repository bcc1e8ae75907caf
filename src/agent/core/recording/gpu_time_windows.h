// Which calls' GPU times are recorded in a profile, where a record costs the program 1 to 3 us, and a switch some 0.1 ms: all of the
// first kFirst, and then kOfWindow in a row each tenth of a second or so. So a program that makes less than 10,000 calls a
// second has all recorded. What CUPTI makes of each launch, recorded or not, stays (docs/driver-facts.md). The distances are
// irregular, so that no rhythm of the program's goes along with them. A call path of which less than kOfPath were recorded
// begins one of kOfNew calls in between. The report takes a call that was left out for as long as those of its path.
// For use by all threads: no lock, nothing to wait for. One thread at a time switches; the others go by what is.
#pragma once
#include <atomic>
#include <cstdint>

namespace diogenes::agent {

class GpuTimeWindows {
 public:
  static constexpr int32_t kFirst = 5'000, kOfWindow = 1'000, kOfNew = 100;  // calls
  static constexpr uint8_t kOfPath = 4;
  // ns, from window to window: the mean, from half of it on; and the least, where a path is new.
  static constexpr int64_t kDistance = 100'000'000, kAtLeast = 20'000'000;

  // Is this call's GPU time to be recorded? `record` begins (true) or ends recording, and returns whether it is on then.
  template <typename Record>
  bool wants(uint32_t path, int64_t now, Record&& record) {
    // relaxed: counts and times alone; what `record` does is ordered by whoever records.
    if (open_.load(std::memory_order_relaxed) && left_.fetch_sub(1, std::memory_order_relaxed) > 0) {
      note(path);
      return true;
    }
    const bool due = now >= next_.load(std::memory_order_relaxed);
    const bool wanted = due || (is_new(path) && now >= next_for_new_.load(std::memory_order_relaxed));
    if (!wanted && !open_.load(std::memory_order_relaxed)) return false;
    // acquire pairs with the release below: who switches next sees what was switched.
    if (switching_.exchange(true, std::memory_order_acquire)) return open_.load(std::memory_order_relaxed);
    bool open = open_.load(std::memory_order_relaxed);
    if (wanted != open) open = record(wanted);
    if (open) note(path);
    left_.store(open ? (due ? kOfWindow : kOfNew) - 1 : 0, std::memory_order_relaxed);
    if (due) next_.store(now + distance(now), std::memory_order_relaxed);
    if (wanted) next_for_new_.store(now + kAtLeast, std::memory_order_relaxed);
    open_.store(open, std::memory_order_relaxed);
    switching_.store(false, std::memory_order_release);
    return open;
  }

  // Recording ends until the next call that is wanted. False: it goes on, as another thread switches, or `record` cannot.
  template <typename Record>
  bool end(Record&& record) {
    if (switching_.exchange(true, std::memory_order_acquire)) return false;
    const bool open = open_.load(std::memory_order_relaxed) && record(false);
    left_.store(0, std::memory_order_relaxed);
    next_.store(0, std::memory_order_relaxed);
    open_.store(open, std::memory_order_relaxed);
    switching_.store(false, std::memory_order_release);
    return !open;
  }

 private:
  static constexpr uint32_t kPaths = 1 << 16;  // beyond, several share a place

  bool is_new(uint32_t path) const {
    return recorded_[path % kPaths].load(std::memory_order_relaxed) < kOfPath;
  }
  void note(uint32_t path) {
    std::atomic<uint8_t>& of = recorded_[path % kPaths];
    if (const uint8_t times = of.load(std::memory_order_relaxed); times < kOfPath)
      of.store(static_cast<uint8_t>(times + 1), std::memory_order_relaxed);
  }

  static int64_t distance(int64_t now) {
    const uint64_t mixed = static_cast<uint64_t>(now) * 0x9e37'79b9'7f4a'7c15;
    return kDistance / 2 + static_cast<int64_t>((mixed >> 32) % kDistance);
  }

  std::atomic<int32_t> left_{kFirst};  // calls that are recorded before it is asked whether to go on
  std::atomic<bool> open_{true}, switching_{false};
  std::atomic<int64_t> next_{0}, next_for_new_{0};  // when the next window begins
  std::atomic<uint8_t> recorded_[kPaths] = {};
};

}  // namespace diogenes::agent
