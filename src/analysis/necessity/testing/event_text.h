// Test support: events as lines of text, so that a test can hold them as literals.
//
//   "10 work t0 s0 [m0 0x1000+64 w whole]"        time, kind, thread, numbers, accesses
#pragma once
#include <string>
#include <vector>

#include "analysis/necessity/events.h"

namespace diogenes::necessity::testing {

std::string text_of(const Event& event);

struct TextSink : EventSink {
  std::vector<std::string> lines;
  void take(const Event& event) override { lines.push_back(text_of(event)); }
};

}  // namespace diogenes::necessity::testing
