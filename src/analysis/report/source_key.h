// A finding's identity across rebuilds: what it is, what is called, and the functions on the way there. Lines, offsets
// and addresses are not in it, so it survives added lines and other compilers' layouts. Findings that are alike in all of
// that are numbered in the order of their lines.
#pragma once
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

// Of one finding; `kind` is "required" for a needed wait. The same for findings that are alike.
std::string source_key_of(const std::string& kind, const std::string& called,
                          const std::vector<ReportFrame>& stack);

// Gives every problem and every needed wait its key.
void set_source_keys(Report& report);

}  // namespace diogenes
