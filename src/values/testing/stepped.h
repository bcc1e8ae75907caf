// Follows values in a test's own process: what the agent does for the library, done by a test. A value lies on a page of its
// own that cannot be accessed; its first touch is handed to the follower as the agent would.
#pragma once
#include <functional>
#include <vector>

#include "trace/fact_records.h"

namespace diogenes::values {

// Runs `body` with the place of a value, and says what became of the value at its first touch. Each runs in a process of its
// own. No record: it was not followed.
struct Followed {
  std::vector<ValueRecord> records;
  int status = -1;  // of the process, as waitpid tells
  bool ended_well() const { return status == 0; }
};
struct Setting {
  bool by_watchpoint = false;  // the touch is told behind the instruction
  bool finish = true;          // the process ends in order
  int64_t budget_ns = int64_t{1} << 60;
};
Followed follow(const std::function<void(volatile double* value)>& body, Setting setting = {});

// Code that the test calls the driver's, or the agent's.
#define AS_DRIVER __attribute__((section("test_driver"), noinline, noipa))
#define AS_AGENT __attribute__((section("test_agent"), noinline, noipa))

}  // namespace diogenes::values
