// Host memory that the GPU could use, and that no work ever names: pinned, registered, managed. A kernel can reach it only by an
// address that it finds where the agent does not look.
// In: such memory, and what work names, in the order of time. Out: from when to when there was some.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "base/range.h"

namespace diogenes::necessity {

class UnnamedMemory {
 public:
  struct Span {
    int64_t from_ns, to_ns;
  };
  void made(AddressRange range, int64_t at_ns) {
    if (!range.empty()) live_[range.begin] = {range.end, at_ns};
  }
  void named(AddressRange range) {
    auto next = live_.upper_bound(range.begin);
    if (next != live_.begin() && std::prev(next)->second.end > range.begin) --next;
    for (; next != live_.end() && next->first < range.end; ++next) next->second.named = true;
  }
  void released(uint64_t begin, int64_t at_ns) {
    const auto gone = live_.find(begin);
    if (gone == live_.end()) return;
    if (!gone->second.named) spans_.push_back({gone->second.since_ns, at_ns});
    live_.erase(gone);
  }
  std::vector<Span> until(int64_t end_ns) const {
    std::vector<Span> spans = spans_;
    for (const auto& [begin, memory] : live_)
      if (!memory.named) spans.push_back({memory.since_ns, end_ns});
    return spans;
  }

 private:
  struct Memory {
    uint64_t end = 0;
    int64_t since_ns = 0;
    bool named = false;
  };
  std::map<uint64_t, Memory> live_;  // by address
  std::vector<Span> spans_;
};

}  // namespace diogenes::necessity
