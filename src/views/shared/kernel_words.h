// What lies inside a kernel, in words that all views share. In: ReportKernelSamples. Out: phrases without line ends.
#pragma once
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

// "FILE:12 to 18"; "": not known.
std::string lines_text(const ReportKernelNode& node);
// "the loop at FILE:12 to 18", "FILE:20 in norm (called in line 14)"
std::string kernel_place(const ReportKernelSamples& kernel, const ReportKernelNode& node);
// "waits for data from memory (71%)": why most of these samples are where they are; "": there are none.
std::string main_reason(const ReportKernelSamples& kernel, const ReportSampleCount& count);
// "62% of its samples in the loop at FILE:12 to 18; there it mostly waits for data from memory (71%)"
std::string hottest_phrase(const ReportKernelSamples& kernel, const ReportKernelNode& node);
// "issues an instruction in 31% of its cycles, ..."
std::string issue_phrase(const ReportKernelSamples& kernel);

// The same for a context inside a kernel; "": it is none.
std::string main_reason(const ReportProfile& profile, const ReportContext& context);

struct StallWords {
  double share = 0;  // of the kernel's samples
  std::string phrase, name, meaning, advice;
};
// Of the whole kernel, the most first.
std::vector<StallWords> stall_words(const ReportKernelSamples& kernel);

}  // namespace diogenes
