// One row a problem, for spreadsheets and data frames. RFC 4180: a header row, CRLF, quotes where a field needs them;
// numbers in seconds and bytes, with a point. In: a report. Out: the whole file. Unknown is an empty field.
// Where something was proved, five columns more say what.
#pragma once
#include <string>

#include "analysis/report/report.h"

namespace diogenes {

std::string to_csv(const Report& report);

}  // namespace diogenes
