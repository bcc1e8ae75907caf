// A program that runs long is recorded in windows, which the launcher opens and closes by a page (ffm/control_page.h) that lies
// beside the plan. Is one open just now? hooks/windows.h has what is done for them.
#pragma once
#include "ffm/control_page.h"

namespace diogenes::agent {

// Null: no windows, all is recorded.
inline __attribute__((visibility("hidden"))) ControlPage* control_page = nullptr;

void find_windows();  // once, at the start: the plan is known

// Without a look at the clock: a window whose launcher is gone stays open until the next call of the driver.
inline bool window_open() {
  // relaxed: no data goes along with it.
  return !control_page || control_page->until_ns.load(std::memory_order_relaxed) != 0;
}

}  // namespace diogenes::agent
