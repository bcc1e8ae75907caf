#include "prints.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

namespace diogenes::sim {
namespace {

std::mutex lock;
std::vector<uint64_t>& numbers() {
  static auto* kept = new std::vector<uint64_t>;  // programs call the driver from their last destructors
  return *kept;
}

[[gnu::format(printf, 1, 2)]] void print(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stdout, format, arguments);
  va_end(arguments);
}

}  // namespace

std::atomic<bool> prints_wait{false};

void print_later(uint64_t number) {
  const std::lock_guard held(lock);
  numbers().push_back(number);
  prints_wait.store(true, std::memory_order_release);
}

void print_now() {
  std::vector<uint64_t> taken;
  {
    const std::lock_guard held(lock);
    taken = std::exchange(numbers(), {});
    prints_wait.store(false, std::memory_order_relaxed);
  }
  for (const uint64_t number : taken) print("a kernel says %lu\n", static_cast<unsigned long>(number));
  fflush(stdout);
}

}  // namespace diogenes::sim
