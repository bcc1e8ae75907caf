// Which context held a sample that has frames of Python. In: the contexts that are known, the one that has the time between two
// calls, and the sample's frames. Out: a context, at that one or above it.
//
// Frames of Python are all there, so a function of Python that is not among them was left already, or not called yet: where two
// calls of one line lie around a loop, say, the time seems to be that of what makes them.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/report_profile.h"

namespace diogenes {

using SampledFrames = std::vector<const ReportFrame*>;  // innermost first

std::optional<size_t> outermost_of(const SampledFrames& frames, const std::string& name);

bool is_below_python(const std::vector<ReportContext>& contexts, uint32_t context);

// `native`: frames before the innermost of Python's. The context, and which frame that is; none: no context of Python above `context`
// is among the frames.
std::optional<std::pair<uint32_t, size_t>> holder_of(const std::vector<ReportContext>& contexts,
                                                     uint32_t context, const SampledFrames& frames,
                                                     size_t native);

}  // namespace diogenes
