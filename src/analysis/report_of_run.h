// The report of a session by one of its tracing runs. In: the session's folder. Out: the report, the runs that would
// make its figures surer, and the benefit of other problems together than its groups have.
#pragma once
#include <filesystem>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/findings/groupings.h"
#include "analysis/findings/required.h"
#include "analysis/joined_runs.h"
#include "analysis/profile/profile.h"
#include "analysis/program/main_loop.h"
#include "analysis/report/description.h"
#include "analysis/report/options.h"
#include "analysis/runs/further_runs.h"
#include "analysis/symbols/source_lines.h"
#include "analysis/symbols/stack_names.h"

namespace diogenes {

// The steps of stage 5, in order; what one leaves is the next one's input.
class ReportOfRun {
 public:
  ReportOfRun(std::filesystem::path folder, Session session, const AnalysisOptions& options,
              necessity::Check check);
  Result<Report> run();

  // After run():
  const FurtherRuns& further() const { return further_; }
  // Once. False: the verdicts do not hold together, and the report is wrong.
  bool verdicts_hold() { return runs_.verdicts_hold(); }
  // Of the problems with these keys; none of them is in this run: nothing.
  std::optional<Figure> together(const std::set<std::string>& keys) const;

 private:
  std::vector<uint32_t> with_keys(const std::set<std::string>& keys) const;
  OwnerChoices owners() const;
  void describe_session();
  void describe_window();
  bool mark_region(const std::string& region);
  void mark_part();
  void say_code_loading();
  void describe_process();
  void make_model();
  const Replay& model();
  void find();
  RequiredWaits add_needed(const ProblemInput& input, const std::vector<Problem>& problems, size_t most,
                           Description& description);
  Nanoseconds longer_than_undisturbed() const;
  std::vector<std::vector<ReportFrame>> stacks_of_needed_waits(const std::vector<Problem>& problems);
  bool gpu_work_known() const { return runs_.gpu_work && runs_.gpu_work->pieces > 0; }
  void start_idle();
  void add_profile();
  void describe_profile();
  std::vector<std::string> work_names() const;
  void note_further_runs(const Problems& problems, const Replay& replay);
  void add_parts(const GroupingInput& grouping, const std::vector<Group>& groups, Description& description);
  std::vector<Group> groups_asked_for(const GroupingInput& grouping) const;
  void add_together(const GroupingInput& grouping, Description& description);
  Nanoseconds gained_in_loop(const std::vector<uint32_t>& members, Nanoseconds all) const;
  void finish_notices();

  Session session_;
  AnalysisOptions options_;
  JoinedRuns runs_;
  double threshold_percent_ = 0.1;
  std::optional<MainLoop> loop_;  // of the tracing run
  std::optional<Models> models_;
  std::future<void> model_made_;  // where it is made beside the rest
  Problems problems_;
  std::vector<std::string> keys_;  // of problems_
  StackNames names_;
  SourceLines source_;
  std::vector<FollowedPlace> to_follow_;
  std::map<std::string, ReportFunction> functions_;
  std::string problem_;  // with what was asked for
  bool used_cuda_ = false;
  FurtherRuns further_;
  Report report_;
  // Made beside the rest, from what is above.
  std::future<std::vector<std::vector<UnwoundSample>>> named_;  // of a profile
  std::future<std::vector<GpuIdle>> idle_;
};

}  // namespace diogenes
