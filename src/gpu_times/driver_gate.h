// CUPTI ends sampling with a lock of its own and waits for the driver's, and in a call of the driver it is the other way round. So
// sampling ends while no other thread is in a call, and who comes meanwhile waits.
#pragma once
#include <cstdint>

namespace diogenes::driver_gate {

// This thread enters a call of the driver, or leaves it.
void pass(bool enters);

// Closes the gate, and waits `longest` ns at most until no other thread is in a call. Open again at its end.
class Closed {
 public:
  explicit Closed(int64_t longest);
  ~Closed();
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;
  bool alone() const { return alone_; }  // false: another thread is in a call, or has closed the gate itself

 private:
  bool closed_ = false, alone_ = false;
};

}  // namespace diogenes::driver_gate
