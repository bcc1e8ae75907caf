// The report for other tools: each file of this folder makes one kind of text of it, and says there what it is. In: a report.
// Out: the whole file.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "analysis/report/report.h"
#include "views/shared/places.h"

namespace diogenes {

std::string to_json(const Report& report);
std::string to_csv(const Report& report);
std::string to_kernels_csv(const Report& report);
std::string to_markdown(const Report& report, const Reader& reader);  // for a pull request's comment
std::string to_sarif(const Report& report, const Reader& reader);     // for code scanning
std::string to_perfetto(const Report& report);                        // Chrome's trace events
std::string to_collapsed(const Report& report);                       // for flame graphs: what can be saved

// Where time goes (report_profile.h); without a profile they are valid, and have no samples.
std::string to_pprof(const Report& report);           // profile.proto, not compressed
std::string to_speedscope(const Report& report);      // speedscope's own JSON
std::string to_collapsed_time(const Report& report);  // for flame graphs: CPU and GPU time

// JSON has no word for what is not a number.
inline double finite(double value) { return std::isfinite(value) ? value : 0.0; }

// Frames of a problem's stack as words, from the outside in: "als::step (als.cc:88)"; last what the problem is.
std::vector<std::string> flame_frames(const ReportProblem& problem);

}  // namespace diogenes
