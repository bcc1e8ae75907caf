// The report as one web page that needs no other file and no network. In: a report, with a timeline where there is one.
// Out: the whole page. What has to be read is plain HTML; a script (web/, bundled into the program) adds sorting, the
// timeline and the flame graph. Everything that comes from the program is escaped, and a content security policy
// forbids every request.
#pragma once
#include <string>

#include "analysis/report/report.h"
#include "views/shared/places.h"

namespace diogenes {

std::string to_html(const Report& report, const Reader& reader);

}  // namespace diogenes
