// What kernels print: it is kept, and comes out on a thread that waits in the driver, through libc's
// vfprintf, as the real driver has it (docs/driver-facts.md).
#pragma once
#include <atomic>
#include <cstdint>

namespace diogenes::sim {

void print_later(uint64_t number);  // of the kernel `say`
extern std::atomic<bool> prints_wait;
void print_now();
inline void flush_prints() {
  if (prints_wait.load(std::memory_order_acquire)) print_now();  // pairs with print_later()
}

}  // namespace diogenes::sim
