// What a user must know beside the findings: what was lost, could not be watched, differed between runs. One
// sentence each.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "analysis/findings/problems.h"
#include "analysis/replay/recorded/gpu_times.h"
#include "analysis/report/report.h"
#include "analysis/runs/join.h"
#include "trace/session.h"

namespace diogenes {

// ReportNotice::code where others than the program's own threads and the GPU reach its memory.
inline constexpr const char* kReachedFromOutside = "reached-from-outside";
// ... where work of the GPU's failed.
inline constexpr const char* kWorkFailed = "work-failed";

const char* drop_sentence(Drop cause);            // drops.cc: follows 'N times: '
const char* unwatched_sentence(uint32_t reason);  // of one bit of kUnwatchedReasons

bool loses_operations(Drop cause);  // else something about them

// A sentence for each cause of which operations of this stage are missing: it is not complete.
std::vector<std::string> lost_operations(const Run& run, const std::string& stage);

// Of one stage: files cut, other losses by cause, hooks left out, processes that did not end in order.
void stage_notices(const Run& run, const std::string& stage, std::vector<ReportNotice>& notices);

// Of the session: stages that are missing or failed, runs that differ in output or exit status.
void session_notices(const Session& session, std::vector<ReportNotice>& notices);

// Did other programs keep so many processors busy during a run that it had to wait for its own?
bool machine_was_busy(const StageRun& run);

// Instances of stage 3 that count as needed because they could not be watched.
void unwatched_notices(const Run& memory_tracing, std::vector<ReportNotice>& notices);

// Calls that stage 3 looked at in their first occurrences only, until --max-overhead was reached. `name`: of a
// site, as the user knows it.
void left_out_notice(const Run& memory_tracing, double max_overhead,
                     const std::function<std::string(SiteIndex)>& name, std::vector<ReportNotice>& notices);

// That addresses which kernels find were not looked for in large copies.
void not_searched_notice(const Run& memory_tracing, std::vector<ReportNotice>& notices);

void join_notices(const JoinResult& join, const std::string& stage, std::vector<ReportNotice>& notices);
void first_use_join_notice(const JoinResult& join, std::vector<ReportNotice>& notices);  // of stage 4

// Why stacks of stage 2 lack frames of Python. Once, of all processes.
void python_notice(const Run& tracing, std::vector<ReportNotice>& notices);

// Of the model `replay`: `mismatch` is what replaying the recorded run misses of its time.
void gpu_times_notices(const Run& run, const GpuTimesFound& found, std::vector<ReportNotice>& notices);
void mismatch_notice(double mismatch, std::vector<ReportNotice>& notices);

void problem_notices(const Problems& problems, const EventGraph& graph, double threshold_percent, Model model,
                     std::vector<ReportNotice>& notices);

}  // namespace diogenes
