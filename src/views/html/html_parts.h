// What the page is made of (html.h). Text of the program comes escaped.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/report.h"
#include "views/shared/outline.h"
#include "views/shared/places.h"

namespace diogenes {

// As content or as an attribute in double quotes. What is no UTF-8 becomes U+FFFD; control characters become spaces,
// but for tabs and line ends.
std::string html(std::string_view text);

// An entry of a list of terms; of no content none. The content is HTML already.
std::string html_item(const char* label, const std::string& content);
// A stack that unfolds, innermost first.
std::string html_stack(const std::vector<ReportFrame>& frames, const Reader& reader);
constexpr size_t kWholePlace = 400;  // characters of a place; the page breaks lines

// What the page's script needs (html_data.cc).
std::string html_data(const Report& report, const Outline& outline, const Reader& reader);

// Findings, needed waits and groups (html_findings.cc).
std::string findings_html(const Report& report, const Outline& outline, const Reader& reader);
std::string required_html(const Report& report, const Reader& reader);
std::string groups_html(const Report& report, const Outline& outline);
bool has_groups(const Report& report);  // of more than one problem: others are a finding already

// GPU work, and the tree of calling contexts (html_profile.cc). "": the report has no profile.
std::string gpu_work_html(const Report& report, const Reader& reader);
std::string kernel_html(const ReportGpuWork& work, const Reader& reader);  // html_kernel.cc
std::string idle_html(const Report& report);
std::string contexts_html(const Report& report);

}  // namespace diogenes
