// Stacks for tools that draw them: words for a frame, and the calling contexts of a profile as samples.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

// "als::step"; of a frame without a name "libx.so+0x12".
std::string frame_name(const ReportFrame& frame);
// "als::step (als.cc:88)"
std::string frame_words(const ReportFrame& frame);
// Where `;` and line ends part frames: without them, in UTF-8, and at most 300 bytes, for each stack repeats all of its
// frames. Of a longer one the middle is left out.
std::string one_frame(const std::string& words);

// A context as a frame: its function, and where that begins. Kernels and calls have a name alone.
ReportFrame frame_of(const ReportContext& context);
std::string context_name(const ReportContext& context);

// The contexts down to this one, the outermost first. The root is in its own stack only: it tells nothing of others.
std::vector<uint32_t> stack_of(const std::vector<ReportContext>& contexts, uint32_t context);

// Whole nanoseconds; 0 of what is no time.
int64_t nanoseconds(double seconds);

// In stacks of CPU time: what a call takes while it waits is a frame below it.
constexpr const char* kWaits = "[waits for the GPU]";

}  // namespace diogenes
