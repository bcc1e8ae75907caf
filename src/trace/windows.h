// The windows in which a program was recorded that ran on before, between and after them (ffm/control_page.h): the file `windows`
// in the stage's folder, a record each, appended by whoever opened it once it is closed. And a trace as it is in one of them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/result.h"
#include "trace/reader.h"

namespace diogenes {

inline constexpr const char* kWindowsFile = "windows";

// CLOCK_MONOTONIC, ns. `work`: how often the program gave the GPU work meanwhile; before it, undisturbed, it did so
// `undisturbed_work` times in `undisturbed_ns`.
struct Window {
  int64_t begin_ns = 0, end_ns = 0;
  int64_t undisturbed_ns = 0;
  uint64_t undisturbed_work = 0, work = 0;
};
// How many times as long the program takes for the same work while it is recorded; 0: too little is known.
double slowdown(const Window& window);

// In the order in which they were closed. None: there is no such file, or nothing in it can be read.
std::vector<Window> read_windows(const std::filesystem::path& stage_folder);
// Error: the disk is full, or the folder has gone.
Status add_window(const std::filesystem::path& stage_folder, const Window& window);

// Leaves of each thread the operations that began in the window, with what was recorded of them, and of each process what ran
// then: it starts and ends, in order, with the window. Operations are counted from the window's first one on.
void clip(StageTrace& stage, const Window& window);

}  // namespace diogenes
