// Windows of one process, judged together: of several waits of which one is enough, the same site stays in all of them, and
// what is called needless is checked in each.
// In: the process's events, and from when to when windows were open. Out: of each synchronization that a window shows, whether
// it is needed. Source: docs/necessity.md (Windows).
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "analysis/necessity/judge/check.h"
#include "analysis/necessity/windows/window_events.h"

namespace diogenes::necessity {

struct WindowSpan {  // [begin_ns, end_ns), CLOCK_MONOTONIC
  int64_t begin_ns = 0, end_ns = 0;
};

struct JudgedWindow {
  std::vector<size_t> instances;  // synchronizations that it shows: which ones of the process's they are
  std::vector<bool> needed;       // for each of them
};

struct JudgedWindows {
  std::vector<JudgedWindow> windows;
  std::vector<bool> needless;  // by synchronization of the process: a window calls it so
  size_t withdrawn = 0;        // that the check found needed in spite of that
};

// `forgets_after`: as Judge has it.
JudgedWindows judge_windows(const Replay& replay, std::span<const WindowSpan> windows,
                            const WindowRules& rules = {}, size_t forgets_after = 1024);

}  // namespace diogenes::necessity
