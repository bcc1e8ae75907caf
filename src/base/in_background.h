// Work on several threads. In: functions that do not touch what others of them write. What they make does not depend on
// which thread runs them.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <thread>
#include <utility>
#include <vector>

namespace diogenes {

// Runs a function on a thread of its own, beside what its caller goes on with. Where no thread can be made, it runs
// when its result is asked for. A thread that runs is waited for at the latest when the result goes out of scope.
template <typename Function>
[[nodiscard]] auto in_background(Function function) {
  return std::async(std::launch::async | std::launch::deferred, std::move(function));
}

// Calls visit(i) for each i below `count`, on this thread and up to `most` - 1 others, in any order: no more than there
// are processors. Each thread may need memory of the size of a run.
template <typename Visit>
void each_on_threads(size_t most, size_t count, Visit visit) {
  std::atomic<size_t> next{0};
  auto share = [&] {
    for (size_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
         i = next.fetch_add(1, std::memory_order_relaxed))
      visit(i);
  };
  std::vector<std::future<void>> others;
  const size_t threads = std::min({most, count, std::max<size_t>(std::thread::hardware_concurrency(), 2)});
  for (size_t i = 1; i < threads; ++i) others.push_back(in_background(share));
  share();
  for (std::future<void>& other : others) other.get();
}

template <typename Visit>
void each_on_two_threads(size_t count, Visit visit) {
  each_on_threads(2, count, visit);
}

}  // namespace diogenes
