// When GPU work ran, where it is known. Optional: no model requires it.
#pragma once
#include <cstdint>
#include <optional>

namespace diogenes {

struct GpuTime {
  int64_t begin_ns = 0, end_ns = 0;  // on the trace's clock
};

class GpuTimes {
 public:
  virtual ~GpuTimes() = default;
  // Of the work that one operation started; `thread` and `operation` are positions in Process::threads and
  // Thread::operations.
  virtual std::optional<GpuTime> of(uint32_t process, uint32_t thread, uint32_t operation) const = 0;
};

}  // namespace diogenes
