// Stage 5. In: a session folder. Out: an immutable report, which further runs would be worth it, and estimates of
// other sets of problems when they are asked for.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/benefit/models.h"
#include "analysis/report/report.h"
#include "analysis/runs/further_runs.h"
#include "analysis/runs/run.h"
#include "analysis/symbols/frame_owner.h"
#include "base/result.h"
#include "ffm/plan.h"

namespace diogenes {

// `--subsequence G3:2-5`: entries 2 to 5 of the sequence that the report calls G3.
struct PartOfSequence {
  std::string group;
  size_t first = 0, last = 0;
};
Result<PartOfSequence> part_of_sequence(std::string_view text);

struct AnalysisOptions {
  double threshold_percent =
      -1;  // of the GPU phase, for misplaced synchronizations; below 0: the session's own
  Model model = Model::replay;
  std::vector<PartOfSequence> parts;    // to estimate beside the groups that are found
  JudgeProcess judge = nullptr;         // for tests; null: the judges
  std::set<std::string> allowed;        // source keys that `together` leaves out
  OwnerChoices owners;                  // added to the session's own
  size_t timeline = 0;                  // intervals that the report's timeline may have; 0: it has none
  std::string tracing_run = "tracing";  // whose figures they are; those of its repeats are united with them
  // Problems by their keys, set by set: these are the report's groups, in place of those that are found.
  std::optional<std::vector<std::set<std::string>>> groups;
};

// Takes a truncated or incomplete session as far as it goes, and says in the report's notices what is
// missing.
// `further`: where it is given, the runs that would make the figures surer.
Result<Report> analyse(const std::filesystem::path& session, const AnalysisOptions& options = {},
                       FurtherRuns* further = nullptr);

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

// Stage 1's decision: catalogue symbols of the public functions on whose stacks the wait function was
// entered.
Result<std::vector<std::string>> waiting_functions(const std::filesystem::path& baseline_folder);

}  // namespace diogenes
