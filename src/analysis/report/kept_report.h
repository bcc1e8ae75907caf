// The finished report of a session, kept in it as `report.kept`, so that it opens at once. In: the session, the options
// of the analysis. Out: the report that was kept for just these, or none. It is taken only where the same build of the
// tool made it, of the same files with the same sizes and times, with the same options; its checksum is right; and all
// of it can be read. Anything else is as if it were not there. It is no format for others: report.json is.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "analysis/report/options.h"
#include "analysis/report/report.h"
#include "base/result.h"

namespace diogenes {

// Of whole reports: `parts` and `allowed` of the options are not looked at.
std::optional<Report> read_kept_report(const std::filesystem::path& session, const AnalysisOptions& options);

// Replaces the one that is there by `report`, of report_bytes(). A session that cannot be written to stays as it is.
Status keep_report(const std::filesystem::path& session, const AnalysisOptions& options,
                   const std::string& report);

// The bytes of a report, and back; none where they are not those of a report.
std::string report_bytes(const Report& report);
std::optional<Report> report_of(std::string_view bytes);

}  // namespace diogenes
