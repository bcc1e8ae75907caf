// Findings, needed waits, groups of the page: plain HTML that folds without a script. In: a report and its outline.
// Out: elements with the ids f1, f2, ... and r1, r2, ..., which html_data.h refers to.
#pragma once
#include <string>

#include "analysis/report/report.h"
#include "views/shared/outline.h"
#include "views/shared/reader_settings.h"

namespace diogenes {

std::string findings_html(const Report& report, const Outline& outline, const Reader& reader);
std::string required_html(const Report& report, const Reader& reader);
std::string groups_html(const Report& report, const Outline& outline);

}  // namespace diogenes
