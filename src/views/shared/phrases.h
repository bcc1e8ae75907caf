// The words that all views share: what a finding is, in a few of them, and what a session says in one line.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/report.h"
#include "views/shared/outline.h"

namespace diogenes {

// "needless wait" of "unnecessary-synchronization"; a kind that a later version adds is shown as it is named.
std::string kind_phrase(const std::string& kind);

// What the problems of a group have in common: "same function" of "folded-function"; others as they are named.
std::string grouping_phrase(const std::string& grouping);

// The program that was measured, as a person calls it: "als", "train.py" of "python3 -u train.py".
std::string program_name(const std::vector<std::string>& command);

// As a shell would take it back.
std::string quoted(const std::string& argument);

// Right alone, and not together with the others: no figure of several has it.
bool stands_apart(const Finding& finding);
// Why it is not to be combined with them; "" where it may be.
std::string apart_text(const Finding& finding);
// "cudaFree: needless wait", "thrust::sort: needless wait"; of several problems what they have in common.
// Shortened to `room` characters where it is longer: first what else is wrong, then the call's name.
std::string finding_phrase(const Finding& finding, size_t room = SIZE_MAX);

// Must it be made sure of before the change, or the program may break? All other conditions hold for every finding of a kind, or
// only say what a figure holds.
bool can_break(const ReportCondition& condition);

// What waits: "torch.Tensor.item", "cudaMemcpy".
std::string required_phrase(const ReportRequired& required);
std::string required_kind(
    const ReportRequired& required);  // "needed wait", "data that the CPU makes and sends"
// Over their list: what there is, and what to change.
std::string required_heading(const Report& report);

// Is there a verdict on any of its waits? Else nobody knows whether they are needed.
bool is_judged(const ReportRequired& required);
std::string required_title(const std::vector<ReportRequired>& required);  // of the waits: "Needed waits"

// Why a synchronization was not judged, of a code of ReportCoverage: "no free hardware watchpoint for small data". A code that a
// later version adds is shown as it is named.
std::string not_judged_phrase(const std::string& code);

// "442 ms of 1.22 s (36.2%) can be saved at 4 places [440 ms to 444 ms]", or that there is nothing to save; and what
// needed waits cost beyond that. It says nothing good of a session that is not complete.
std::string headline(const Report& report, const Outline& outline);

// The machine, and what the program did: "NVIDIA H200, driver 580.159.04; run time 1.25 s; ...".
std::string about_text(const Report& report);

}  // namespace diogenes
