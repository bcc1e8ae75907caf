// Stage 5. In: a session folder. Out: an immutable report, which further runs would be worth it, and estimates of
// other sets of problems when they are asked for.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/options.h"
#include "analysis/report/report.h"
#include "analysis/runs/further_runs.h"
#include "base/result.h"

namespace diogenes {

// `--subsequence G3:2-5`.
Result<PartOfSequence> part_of_sequence(std::string_view text);

// What an analysis held in memory. To give it back takes as long as a part of the analysis, so who waits for the report
// has it before.
class AnalysisMemory {
 public:
  AnalysisMemory();
  ~AnalysisMemory();

 private:
  friend Result<Report> analyse(const std::filesystem::path&, const AnalysisOptions&, FurtherRuns*,
                                AnalysisMemory*);
  struct Held;
  std::unique_ptr<Held> held_;
};

// Takes a truncated or incomplete session as far as it goes, and says in the report's notices what is
// missing.
// `further`: where it is given, the runs that would make the figures surer. `memory`: holds it from then on; null: it is
// given back.
Result<Report> analyse(const std::filesystem::path& session, const AnalysisOptions& options = {},
                       FurtherRuns* further = nullptr, AnalysisMemory* memory = nullptr);

// A report with all that its figures rest on, for the benefit of other problems together than its groups have. It
// holds the joined runs in memory.
class Estimator {
 public:
  static Result<Estimator> make(const std::filesystem::path& session, const AnalysisOptions& options = {});
  ~Estimator();
  Estimator(Estimator&&) noexcept;

  const Report& report() const { return report_; }
  // By the report's model; of several tracing runs the median. `problems`: ids of the report.
  Result<ReportTogether> together(const std::vector<std::string>& problems) const;

 private:
  struct Runs;
  Estimator(Report report, std::unique_ptr<Runs> runs);
  Report report_;
  std::unique_ptr<Runs> runs_;
};

}  // namespace diogenes
