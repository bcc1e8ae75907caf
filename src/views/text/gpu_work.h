// Kernels and other GPU work as text: the short table of the report, and all that is known of one.
#pragma once
#include <string>

#include "analysis/report/report.h"
#include "views/shared/places.h"
#include "views/text/page.h"
#include "views/text/problem_text.h"

namespace diogenes {

// Would the run be as long if it took half as long?
bool is_hidden(const ReportGpuWork& work);
bool is_hidden(double half_gain_s, double gpu_s);
// "100 ms [98.0 ms to 102 ms]"
std::string gain_phrase(const ReportGain& gain);
// "100 ms if it takes half as long, 150 ms at most"
std::string what_if_text(const ReportGain& half, const ReportGain& none);
// "the run gains 20.0 ms if that place takes half as long"; "": not known, or nothing.
std::string place_gain(const ReportKernelNode& node, double gpu_s);
// "64 x 4 x 2", "256"
std::string extent_text(const uint32_t (&extent)[3]);
// "src/als.cc:160 in als::update_x and 1 more"; "": not known.
std::string launch_place(const ReportGpuWork& work, const std::string& folder, size_t room);
std::string gpu_work_title(const ReportProfile& profile);  // "Kernels"
// Why a report has no such figures, and what to do.
extern const char* const kNoProfile;

// The `most` that took longest, a line each, and what to type to see more.
void gpu_work_table(Page& page, const ReportProfile& profile, const Reader& reader, size_t most);
// `rank`: from 1, said before it; 0: none.
void gpu_work_details(Page& page, size_t rank, const ReportGpuWork& work, const ProblemTextOptions& options);
// The `most` that took longest, each with its details, and what the reader must know of these figures.
void gpu_work_in_full(Page& page, const ReportProfile& profile, const ProblemTextOptions& options,
                      size_t most);
void profile_notes(Page& page, const ReportProfile& profile);

}  // namespace diogenes
