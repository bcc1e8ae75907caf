#include "launcher/measuring/measure_sleep_costs.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

#include "base/units.h"

namespace diogenes::launcher {
namespace {

// Hosts of virtual machines keep a processor that sleeps for 200 us or less.
constexpr int64_t kLengths[] = {5'000,   20'000,  50'000,  100'000, 150'000, 175'000,   190'000,   210'000,
                                225'000, 250'000, 300'000, 400'000, 500'000, 1'000'000, 2'000'000, 5'000'000};
constexpr int kSweeps = 3;
// A virtual machine's host gets used to how long a processor sleeps: the first rounds do not count.
constexpr uint32_t kRounds = 12, kFirstRounds = 4;
constexpr int64_t kWorkBetween = 20'000;  // of the thread that was woken, ns

long futex(std::atomic<uint32_t>& word, int operation, uint32_t value) {
  return syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

void work_until(int64_t time) {
  while (monotonic_now().count < time) {
  }
}

// One thread that sleeps, round by round, and is woken by the thread that made it.
class Sleeper {
 public:
  Sleeper() : thread_([this] { sleep_each_round(); }) {}
  ~Sleeper() { thread_.join(); }

  // The next round.
  SleepCost wake_after(int64_t length) {
    int64_t asleep_since = 0;
    while ((asleep_since = asleep_since_.exchange(0)) == 0) {
    }
    work_until(asleep_since + length);
    const int64_t begin = monotonic_now().count;
    round_.store(++waking_);
    futex(round_, FUTEX_WAKE, 1);
    const int64_t end = monotonic_now().count;
    int64_t woken = 0;
    while ((woken = woken_.exchange(0)) == 0) {
    }
    return {length, woken - begin, end - begin};
  }

 private:
  void sleep_each_round() {
    for (uint32_t round = 0; round < kRounds; ++round) {
      asleep_since_.store(monotonic_now().count);
      while (round_.load() == round) futex(round_, FUTEX_WAIT, round);
      const int64_t woken = monotonic_now().count;
      woken_.store(woken);
      work_until(woken + kWorkBetween);
    }
  }

  std::atomic<uint32_t> round_ = 0;
  std::atomic<int64_t> asleep_since_ = 0, woken_ = 0;
  uint32_t waking_ = 0;
  std::thread thread_;
};

int64_t median_of(const std::vector<SleepCost>& readings, int64_t SleepCost::*cost) {
  std::vector<int64_t> values;
  for (const SleepCost& one : readings) values.push_back(one.*cost);
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<SleepCost> measure_sleep_costs() {
  std::vector<std::vector<SleepCost>> readings(std::size(kLengths));
  try {
    for (int sweep = 0; sweep < kSweeps; ++sweep)
      for (size_t i = 0; i < readings.size(); ++i) {
        Sleeper sleeper;
        for (uint32_t round = 0; round < kRounds; ++round) {
          const SleepCost cost = sleeper.wake_after(kLengths[i]);
          if (round >= kFirstRounds) readings[i].push_back(cost);
        }
      }
  } catch (const std::system_error&) {
    return {};
  }
  std::vector<SleepCost> costs;
  for (const auto& of_length : readings)
    costs.push_back({of_length.front().slept, median_of(of_length, &SleepCost::wakes_after),
                     median_of(of_length, &SleepCost::waker_pays)});
  return costs;
}

}  // namespace diogenes::launcher
