// The report as JSON, schema diogenes-report/2: one sentence a key in
// docs/report-schema.json. The keys' meaning never changes under this name; keys may be added. Ends in a
// newline. What is no UTF-8 (paths, arguments) has U+FFFD in its place; a figure that is no finite number is
// 0.
#pragma once
#include <string>

#include "analysis/report/report.h"

namespace diogenes {

std::string to_json(const Report& report);

}  // namespace diogenes
