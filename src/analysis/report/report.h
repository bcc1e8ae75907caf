// The product of stage 5: what the views show. Immutable once made. Its JSON form is
// schema diogenes-report/2 (docs/report-schema.json). Seconds as doubles here, because the report is for
// people and files.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report_frame.h"
#include "analysis/report/report_profile.h"
#include "analysis/report/report_timeline.h"

namespace diogenes {

// What a finding rests on, or what to check before the code is changed. `code` is the same in every report.
struct ReportCondition {
  std::string code, text;
};

// What the reader must know about the measurement. `code` is the same in every report.
struct ReportNotice {
  std::string code, text;
};

// Lines of the program around a place.
struct ReportSource {
  int first = 0;  // number of the first of them
  std::vector<std::string> lines;
};

// What became of values that stage 4 followed behind their first use.
struct ReportValueUse {
  std::string use;                // "decides-a-branch", ..., "not-followed-further"
  uint64_t count = 0;             // instances
  std::optional<double> after_s;  // median, from the first use
  std::vector<ReportFrame> stack;
};
struct ReportValue {
  uint64_t followed = 0, instances = 0;              // instances: whose first use was seen in that run
  uint64_t copied = 0, converted = 0, computed = 0;  // of `followed`, before the consequence
  uint64_t later = 0;      // of `followed`: what was first used is a copy, some thousand instructions later
  uint64_t elsewhere = 0;  // of `followed`: other copies were not watched meanwhile
  std::vector<ReportValueUse> uses;     // consequences first, the most frequent first
  std::optional<double> moved_up_to_s;  // a wait right before that later use would gain this at most
};

struct ReportUse {
  std::optional<double> after_s;  // median; none: unknown
  std::vector<ReportFrame> stack;
  std::optional<ReportValue> value;  // none: it was not followed
};

// What surrounds an expected benefit: where it lies, and what each model says.
struct ReportRange {
  double low_s = 0, high_s = 0;
  std::string reason;  // why it is wide; "": it is not
  double paper_s = 0, replay_s = 0;
};

// All problems fixed at once.
struct ReportTogether {
  double expected_benefit_s = 0, expected_benefit_percent = 0;
  ReportRange range;
};

// A process of the program that loaded the driver.
struct ReportProcess {
  std::optional<int> rank;  // in its job; none: it has none
  int pid = 0;              // in the tracing run, whose folder has it in its name
  std::string host, executable;
};

// How often something happened in one process, and in which of its threads.
struct ReportOccurrence {
  struct Thread {
    uint32_t ordinal = 0;  // in the order in which the process's threads used CUDA first
    bool main = false;     // the process's first thread
    uint64_t count = 0;
  };
  uint32_t process = 0;  // position in Report::processes
  uint64_t count = 0, thread_count = 0;
  std::vector<Thread> threads;  // the most frequent first; some of them, where there are many
};

// What `diogenes prove` measured with calls corrected in the unmodified program (proved.h), and what this report expects of it.
struct ReportProved {
  double expected_s = 0, expected_percent = 0;
  bool up_to = false;                     // that is the most that can be gained
  double seconds = 0, percent = 0;        // median of what corrected runs took less
  double error_s = 0, error_percent = 0;  // two standard errors
  bool error_is_known = true;             // there was more than one pair
  uint64_t calls = 0, applied = 0;        // of a run; applied: corrected
  bool as_expected = true;                // the two meet, or nothing was corrected
  bool too_dear =
      false;  // nothing was gained, and correcting took as long as there was to gain: nothing is proved
  double correcting_s = 0, correcting_percent = 0;  // of a run, in corrected calls
  std::string difference;                           // of the results from those as it is; "": they are equal
};

struct ReportProblem {
  std::string id;          // "P1": by expected benefit
  std::string key;         // the same in every session of the same binary
  std::string source_key;  // survives a rebuild (source_key.h)
  std::string kind;        // as kind_name() has it: "unnecessary-synchronization", "duplicate-transfer", ...
  std::string operation;
  std::string api;         // "" : null
  uint64_t count = 0;      // problematic instances
  uint64_t instances = 0;  // all instances of the site
  double waited_s = 0, call_s = 0;
  uint64_t bytes = 0;
  double expected_benefit_s = 0, expected_benefit_percent = 0;
  std::optional<ReportRange> range;
  std::optional<ReportUse> first_use;
  std::vector<ReportFrame> duplicate_of;  // empty: null
  std::vector<ReportFrame> lost_at;       // what overwrote or released unused data; empty: null
  std::vector<ReportCondition> conditions;
  std::string why;                   // what was seen that makes it a problem
  std::string fix;                   // what the figure assumes was changed
  std::optional<ReportFrame> where;  // the frame to act on; none: no stack
  std::string via;                   // the library's function that it calls; "": none
  ReportSource source;               // around `where`; empty where the file is not there or not the same
  std::vector<ReportFrame> stack;    // innermost first
  std::vector<ReportOccurrence> occurrences;  // of the problematic instances, by process
  std::optional<ReportProved> proved;         // none: it was not
};

// Results of so few bytes that come one by one could come in one copy.
inline constexpr uint64_t kResultBytes = 64;
constexpr bool come_one_by_one(uint64_t count, uint64_t in_a_row, uint64_t bytes) {
  const uint64_t each = count > 0 ? bytes / count : 0;
  return 2 * in_a_row >= count && each > 0 && each <= kResultBytes;
}

// Is a line that waits `count` times mostly in a loop whose turns could be made at once?
constexpr bool in_turns(uint64_t count, uint64_t turns) { return 2 * turns >= count && turns > 0; }

// Are most of a line's waits in a part of the library's call that could go?
constexpr bool in_parts(uint64_t count, uint64_t in_parts) { return 2 * in_parts >= count && in_parts > 0; }

// In ReportRequired::reasons, of a profile: nobody looked at memory.
inline constexpr const char* kOnlyProfiled = "profiled";

// Calls of one stack at such a line.
struct ReportRequiredCall {
  std::string key, operation, api;
  uint64_t count = 0;
  bool waits = false;  // else it brings what is waited for
};

// A line whose needed synchronizations cost much, or that sends what the CPU makes. What is said of one stack is said of the wait that is made most often.
struct ReportRequired {
  std::string id;  // "R1": by what could be gained
  std::string key, source_key, operation, api;
  uint64_t count = 0, instances = 0;  // needed; all of the place
  uint64_t not_judged = 0;            // of `count`: not seen to be needed, and count as such
  uint64_t queries = 0;               // of those of `count` that are loops of queries
  uint64_t launches = 0;              // made at the line right before its waits; in the upper end of `range`
  uint64_t in_a_row = 0;              // of `count`: nothing but calls of this line came before them
  uint64_t turns = 0;                 // of `count`: in another turn of a loop than the line's wait before
  uint64_t loops = 0;                 // how often that loop was run: turns + loops are its turns
  uint64_t in_parts = 0;              // of `count`: in `part`, which could go as a whole
  std::string part;                   // the function of the library that waits, inside of the call; "": none
  bool sends = false;                 // no waits: `count` copies of data to the device
  uint64_t bytes = 0;                 // brought, or sent, by all of them
  uint64_t unused_bytes = 0;          // of those brought: nobody touched them, and they are a quarter or more
  double without_unused_s = 0;        // gained if these were not brought; in up_to_s
  double made_s = 0;                  // sends: CPU time right before those copies; in up_to_s
  double between_s = 0;               // CPU time between those in a row; in Python, before each
  double work_s = 0;                  // of the CPU, on what was brought, until its next calls
  double at_most_s = 0;     // gained without launches, turns, between_s and work_s, too; 0: there are none
  double waits_gain_s = 0;  // where the fix says so, up_to_s is at_most_s: the waits alone gain that
  double waited_s = 0, call_s = 0;                        // of all its calls
  std::vector<ReportRequiredCall> calls;                  // waits first, the most frequent first
  double up_to_s = 0, up_to_percent = 0;                  // gained without them, once the problems are fixed
  std::optional<ReportRange> range;                       // of up_to_s
  std::vector<std::pair<std::string, uint64_t>> reasons;  // reason_code(): how many; most frequent first
  std::string used_for;                                   // in words
  std::string fix;                                        // what to change
  std::optional<ReportUse> used_by;
  uint64_t same_value = 0,
           values = 0;  // copies to the host that brought the most frequent bytes, of all; 0: unknown
  std::optional<ReportFrame> where;
  std::string via;
  std::vector<ReportFrame> stack;
  std::vector<ReportOccurrence> occurrences;  // of those that are needed, by process
  std::optional<ReportProved> proved;         // none: it was not
};

// How many synchronizations there is a verdict on.
struct ReportCoverage {
  uint64_t synchronizations = 0, judged = 0;
  std::vector<std::pair<std::string, uint64_t>> not_judged;  // reason_code(): how many; most frequent first
};

struct ReportGroup {
  std::string id, grouping, title;
  double expected_benefit_s = 0, expected_benefit_percent = 0;
  uint64_t synchronization_issues = 0, transfer_issues = 0;
  std::vector<std::string> members;
  std::optional<ReportRange> range;
  std::optional<ReportProved> proved;  // none: it was not
};

// A finding that was not true when it was corrected. It is in no list and in no sum.
struct ReportWithdrawn {
  // Of a needed wait the kind is "needed-wait", and the benefit what it would be at most.
  ReportProblem finding;
  // "correcting it changed the results (stdout differs from the runs as it is at line 3)"
  std::string reason;
};

// The runs of `diogenes prove`, if there were any of this session.
struct ReportProof {
  double runtime_s = 0;          // as it is
  uint64_t pairs = 0;            // of runs, as it is and corrected
  bool from_first_call = false;  // what was gained is of the time from the first of these calls on (proved.h)
  double own_cost_s = 0,
         own_cost_error_s = 0;  // of the hooks with nothing corrected
  std::optional<ReportProved>
      together;           // all that was corrected at once; none: nothing, or a part of it is withdrawn
  uint64_t findings = 0;  // how many that is; of the report's problems and needed waits
  std::vector<std::string> left_out;  // a sentence each: what was not corrected, and why
  std::vector<ReportWithdrawn> withdrawn;
};

// The same chain of calls, over and over (main_loop.h).
struct ReportLoop {
  uint64_t iterations = 0, calls = 0;  // calls: of the driver, in most iterations
  double expected_benefit_s = 0;       // of all problems fixed at once: what is gained inside of it
  double seconds = 0;                  // of all iterations, as they were recorded
};

// The part of the run that the program marked; what is found lies in it.
struct ReportPart {
  std::string marks;   // "cuProfilerStart"
  uint64_t times = 0;  // how often it was entered
  double seconds = 0;  // in all; of several processes the longest
};

// The window of a longer run that the report is of.
struct ReportWindow {
  uint32_t number = 0, count = 0;   // from 1; how many there are
  double after_s = 0, seconds = 0;  // from the first process's start on; how long it was open
  double slowdown = 0;              // by the work that it gives the GPU, beside right before; 0: not known
};

struct ReportStage {
  std::string name;
  double runtime_s = 0, overhead = 0;  // overhead: runtime / baseline (/ plain)
};

struct ReportWaitFunction {
  uint64_t offset = 0;
  int agreed = 0, known = 0;
};

// One driver function's totals: the profiler's view, beside the expected benefit.
struct ReportFunction {
  std::string operation;
  uint64_t count = 0;
  double call_s = 0, waited_s = 0, expected_benefit_s = 0;
};

struct Report {
  std::string model = "paper";
  bool judged = true;  // false: of `diogenes profile`, which says where time goes and judges nothing
  std::string tool_version, started;    // ISO 8601
  std::vector<std::string> incomplete;  // what is missing, a sentence each; empty: complete
  ReportCoverage coverage;
  std::vector<std::string> command;
  int exit_status = 0;
  double runtime_s = 0;                // the baseline's, exec to exit; a window's length
  std::optional<ReportWindow> window;  // none: the whole run
  std::optional<ReportPart> part;      // none: the whole run
  // What percentages refer to.
  double whole_s() const { return part && part->seconds > 0 ? part->seconds : runtime_s; }
  double gpu_phase_s = 0;  // from the first GPU work to the end of the last; 0: unknown
  double gpu_in_use_s =
      0;  // of that, without long stretches in which nothing happens (gpu_phase.h); 0: unknown
  std::string driver_path, driver_build_id, driver_version;
  bool simulated = false;
  std::vector<ReportWaitFunction> wait_functions;
  std::string device_name, compute_capability;
  std::vector<ReportProcess> processes;  // of the tracing run
  std::vector<ReportStage> stages;
  uint64_t synchronizations = 0, transfers = 0, transferred_bytes = 0;
  double waited_s = 0;
  std::vector<ReportFunction> functions;
  std::vector<ReportProblem> problems;
  std::vector<ReportRequired> required;
  std::vector<ReportGroup> groups;
  std::optional<ReportTogether> together;  // none: no problems
  std::optional<ReportTogether>
      required_together;  // once these are fixed; none: no needed waits, or one is withdrawn
  std::optional<ReportLoop> main_loop;
  std::vector<ReportNotice> notices;
  std::optional<ReportTimeline> timeline;  // where it was asked for
  std::optional<ReportProof> proof;        // none: nothing was proved
  std::optional<ReportProfile> profile;    // none: when GPU work ran is not known
};

}  // namespace diogenes
