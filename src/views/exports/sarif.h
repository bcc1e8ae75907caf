// Findings for code scanning (GitHub, GitLab, editors): SARIF 2.1.0. In: a report. Out: the whole file. A rule a kind
// of problem, a result a problem, at the line to act on; `partialFingerprints` has the source key, so that a finding is
// the same one after a rebuild. Files in the reader's folder are relative to %SRCROOT%, for which the tool that reads
// the file takes its own checkout or workspace; others are absolute. A problem without a file has its function alone.
#pragma once
#include <string>

#include "analysis/report/report.h"
#include "views/shared/reader_settings.h"

namespace diogenes {

std::string to_sarif(const Report& report, const Reader& reader);

}  // namespace diogenes
