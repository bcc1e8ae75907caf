// What the page's script needs, as JSON that can stand inside a page: web/data.ts reads it. In: a report and its
// outline. Out: JSON without `<`. Times of the timeline are whole numbers of 10 ns, each begin as the distance from
// the one before.
#pragma once
#include <string>

#include "analysis/report/report.h"
#include "views/shared/outline.h"
#include "views/shared/reader_settings.h"

namespace diogenes {

std::string html_data(const Report& report, const Outline& outline, const Reader& reader);

}  // namespace diogenes
