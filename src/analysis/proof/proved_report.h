// A session's report with what `diogenes prove` measured of it. In: a session folder with or without SESSION/proved.json
// (proved.h), options of the analysis. Out: the report. Findings are matched by their keys; what the report does not have any
// more is left out. A file that cannot be read, or is of another measurement, is one notice.
//
// A finding whose correction changed the results is withdrawn: it moves from its list to ReportProof::withdrawn, groups lose it,
// and all sums are estimated again without it.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/analyse.h"
#include "analysis/proof/proved.h"
#include "analysis/report/report.h"
#include "base/result.h"

namespace diogenes {

// analyse() and read_kept_report() with what was proved. The latter gives none where findings are withdrawn: their sums need the
// runs.
Result<Report> analyse_proved(const std::filesystem::path& session, const AnalysisOptions& options = {});
std::optional<Report> read_kept_proved(const std::filesystem::path& session, const AnalysisOptions& options);

// The same of an analysis that is there.
Report proved_report(const std::filesystem::path& session, const AnalysisOptions& options,
                     const Estimator& estimator);

// What problems with these ids gain together, by the report's model.
using TogetherOf = std::function<ReportTogether(const std::vector<std::string>& problems)>;

// `together_of` is asked only where a finding is withdrawn. `allowed`: source keys that sums of all leave out.
void add_proof(const ProvedSession& proved, const std::set<std::string>& allowed,
               const TogetherOf& together_of, Report& report);

}  // namespace diogenes
