// Which calls' GPU times are recorded in a profile, where each record costs the program some 2 us: all of the first
// kAllCalls, the first kOfPath of each call path, and of the rest those in windows of kOpen, whose distances are irregular so
// that no rhythm of the program's goes along with them. The report takes a call that was left out for as long as those of its path.
// For use by all threads: no lock, nothing to wait for. One thread at a time switches; the others go by what is.
#pragma once
#include <atomic>
#include <cstdint>

namespace diogenes::agent {

class GpuTimeWindows {
 public:
  static constexpr uint32_t kAllCalls = 20'000;
  static constexpr uint8_t kOfPath = 8;
  static constexpr int64_t kOpen = 20'000'000,
                           kClosed = 80'000'000;  // ns; closed: the mean, from half of it on

  // Is this call's GPU time to be recorded? `record` begins (true) or ends recording, and returns whether it is on then.
  template <typename Record>
  bool wants(uint32_t path, int64_t now, Record&& record) {
    const bool fresh = is_fresh(path);
    // relaxed: counts and times alone; what `record` does is ordered by whoever records.
    if (calls_.load(std::memory_order_relaxed) < kAllCalls) {
      calls_.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    if (!is_to_change(fresh, now)) return open_.load(std::memory_order_relaxed);
    // acquire pairs with the release below: who switches next sees what was switched.
    if (switching_.exchange(true, std::memory_order_acquire)) return open_.load(std::memory_order_relaxed);
    if (is_to_change(fresh, now)) {
      const bool open = record(!open_.load(std::memory_order_relaxed));
      open_.store(open, std::memory_order_relaxed);
      change_at_.store(now + (open ? kOpen : closed_for(now)), std::memory_order_relaxed);
    }
    switching_.store(false, std::memory_order_release);
    return open_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kPaths = 1 << 16;  // beyond, several share a place

  bool is_fresh(uint32_t path) {
    std::atomic<uint8_t>& seen = seen_[path % kPaths];
    const uint8_t times = seen.load(std::memory_order_relaxed);
    if (times >= kOfPath) return false;
    seen.store(static_cast<uint8_t>(times + 1), std::memory_order_relaxed);
    return true;
  }

  bool is_to_change(bool fresh, int64_t now) const {
    const bool due = now >= change_at_.load(std::memory_order_relaxed);
    return open_.load(std::memory_order_relaxed) ? due && !fresh : due || fresh;
  }

  static int64_t closed_for(int64_t now) {
    const uint64_t mixed = static_cast<uint64_t>(now) * 0x9e37'79b9'7f4a'7c15;
    return kClosed / 2 + static_cast<int64_t>((mixed >> 32) % kClosed);
  }

  std::atomic<uint32_t> calls_{0};
  std::atomic<bool> open_{true}, switching_{false};
  std::atomic<int64_t> change_at_{0};
  std::atomic<uint8_t> seen_[kPaths] = {};
};

}  // namespace diogenes::agent
