// session.json: what was run, where, and how each stage went. Written by the launcher after every step (to a
// new file, then renamed), read by the analysis and the views. Unknown keys are ignored, missing ones have
// these defaults.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ffm/stage.h"

namespace diogenes {

// The evidence of one discovery (driver/discovery/discovery.h).
struct WaitFunction {
  uint64_t offset = 0;  // image offset in libcuda
  int agreed = 0;       // known waits on whose stacks it was
  int known = 0;        // known waits tried
  bool queue = false;   // the launch-queue wait
};

// The name of the run without measurement (--plain-run).
inline constexpr const char* kPlainRun = "plain";

// The folder of a stage's run in the session, and its name: "tracing", "tracing-2". `number`: from 1.
std::string run_name(Stage stage, int number);

struct StageRun {
  std::string name;    // run_name(), or "plain"
  std::string folder;  // relative to the session; "" for plain
  std::string
      state;  // "running", "complete", "failed", "timeout", "interrupted", "typed" (it read what was typed)
  double runtime_s = 0;  // exec to exit
  double cpu_s = 0;      // user + system
  int exit_status = 0;   // 128+N on a signal; a program may also exit with more than 128
  // What differs from the first run's: "stdout differs from the first run's at line 2, in numbers only".
  std::string output_difference;
  bool output_differs() const { return !output_difference.empty(); }
  int repeat = 0;
  int signal = 0;  // that killed the program; 0: none
  // How many processors other programs kept busy meanwhile, on average, of those that the program may use (0: not known).
  double others_busy = 0;
  int processors = 0;
};

// What `diogenes run` was asked for, as far as it decides which runs there are. `run --resume` reads it.
struct RunRequest {
  bool plain_run = false;
  std::string prepare;  // empty: none
  double timeout_s = 0;
  std::string gpu_times = "auto";
  bool samples = false;  // of the GPU, where GPU times are taken
  int repeat = 1;
  bool follow_values = true;
  uint64_t max_trace_bytes = 0;  // 0: the default
  double max_overhead = 3;
  std::string region;    // of NVTX, in which what is judged lies (--region); empty: none
  bool profile = false;  // `diogenes profile`: one run, with GPU times, of which nothing is judged
};

// Folders whose code the user calls his own (`--own`) or a library's (`--library`), absolute
// (analysis/symbols/frame_owner.h).
struct OwnerChoices {
  std::vector<std::string> own, library;
};

// The program's standard streams in the first run, for later runs (launcher/process/standard_streams.h).
struct StreamsRecord {
  std::string input;        // the file that later runs read, from the session's folder; empty: none
  int64_t input_begin = 0;  // from there on
  bool joined = false;      // stdout and stderr are one
  // Which of "stdin", "stdout" and "stderr" were terminals: later runs have one of their own in place of an output's.
  std::vector<std::string> terminal;
};

// A file that the program had loaded, with GPU code that the driver has to compile for its GPU
// (analysis/program/gpu_code.h). Counts of the source files that were compiled into it.
struct GpuCodeRecord {
  std::string file;
  uint64_t native = 0, compiled = 0, neither = 0;
  std::vector<std::string> built_for;  // those `compiled`: "sm_70", "compute_75"
};

// What it takes on the machine of the session that a thread sleeps so long, until another one wakes it. Nanoseconds.
struct SleepCost {
  int64_t slept = 0;
  int64_t wakes_after = 0;  // from waking it until it goes on
  int64_t waker_pays = 0;   // for the call that wakes it
};
inline constexpr int64_t kLongestSleepCost = 1'000'000'000;  // what is more, was not measured

struct Session {
  std::string schema = "diogenes-session/1";
  std::string tool_version;
  std::vector<std::string> command;
  std::string working_folder;
  std::vector<std::pair<std::string, std::string>>
      environment;         // the part that matters (CUDA_*, LD_*, OMP_*, ranks)
  std::string machine;     // processor, cores, kernel: for people
  std::string started_at;  // ISO 8601, UTC
  int64_t started_ns = 0;  // CLOCK_REALTIME, for 'newest'
  bool simulated = false;
  std::string driver_path, driver_build_id, driver_version;
  std::vector<WaitFunction> wait_functions;
  RunRequest request;
  OwnerChoices owners;
  StreamsRecord streams;
  std::vector<StageRun> runs;
  std::vector<GpuCodeRecord> gpu_code;  // as the tracing run found the files
  std::vector<SleepCost> sleep_costs;   // by `slept`; empty: not measured, because no thread woke another
  bool finished = false;                // all runs are complete, and the report was made
  double threshold_percent = 0.1;       // of the GPU phase, for misplaced synchronizations
  int exit_status = 0;
  std::vector<std::string> notices;
};

// Errors name the file and what is wrong with it.
Result<Session> read_session(const std::filesystem::path& folder);
Status write_session(const std::filesystem::path& folder, const Session& session);

// The session with the latest started_ns among DIR/*.diogenes; error if there is none.
Result<std::filesystem::path> newest_session(const std::filesystem::path& dir);

}  // namespace diogenes
