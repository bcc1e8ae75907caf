// The report for a pull request's comment: a table of the findings, then each with its reasons folded away. GitHub's
// Markdown; what comes from the program is escaped, so that it is shown as it is. In: a report. Out: the whole text,
// below the 65,536 characters that a comment may have; what is left out is counted.
#pragma once
#include <string>

#include "analysis/report/report.h"
#include "views/shared/reader_settings.h"

namespace diogenes {

std::string to_markdown(const Report& report, const Reader& reader);

}  // namespace diogenes
