// One finding with its reasons: why it is a problem, what to do, what to check, where it is.
#pragma once
#include <string>

#include "analysis/report/report.h"
#include "views/shared/outline.h"
#include "views/text/page.h"

namespace diogenes {

struct ProblemTextOptions {
  std::string folder;  // paths are shown relative to it
  bool whole = false;  // the whole stack, all conditions and figures; else what fits in a few lines
  const std::vector<ReportProcess>* processes = nullptr;  // the report's
};

// `rank`: from 1, said before it; 0: none.
void finding_details(Page& page, size_t rank, const Finding& finding, const ProblemTextOptions& options);
void problem_details(Page& page, const ReportProblem& problem, const ProblemTextOptions& options);
void required_details(Page& page, const ReportRequired& required, const ProblemTextOptions& options);

// The place of a finding, or how many it has.
std::string finding_place(const Finding& finding, const std::string& folder, size_t room);

// "is only copied; the copy decides a branch at main.cc:12 (4 of 9 values that were followed)"
std::string value_text(const ReportValue& value, const std::string& folder);

// "its result is used at a.cc:3, the same value in 4,915 of 4,915"
std::string use_text(const ReportRequired& required, const std::string& folder);
// "400 cudaStreamSynchronize, 400 cudaMemcpyAsync that brings the result"; "" where it is one call.
std::string calls_text(const ReportRequired& required);

}  // namespace diogenes
