// Runs a function on a thread of its own, beside what its caller goes on with. Where no thread can be made, it runs
// when its result is asked for. The result is waited for at the latest when it goes out of scope.
#pragma once
#include <future>
#include <utility>

namespace diogenes {

template <typename Function>
[[nodiscard]] auto in_background(Function function) {
  return std::async(std::launch::async | std::launch::deferred, std::move(function));
}

}  // namespace diogenes
