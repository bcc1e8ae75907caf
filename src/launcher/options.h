// The options of each subcommand, as main.cc parses them. Defaults here are the defaults of the command line.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace diogenes::launcher {

enum class DriverKind : bool { system, simulated };

struct RunOptions {
  std::string output;  // empty: APP.N.diogenes
  bool force = false;
  DriverKind driver = DriverKind::system;
  bool plain_run = false;
  std::string prepare;      // empty: none
  double timeout_s = 0;     // 0: none
  bool keep_going = false;  // although the first run was killed by a signal
  std::string report_file;  // empty: stderr
  double threshold_percent = 0.1;
  std::string model = "replay";
  std::string gpu_times = "auto";         // or "off"; of a profile "all"
  bool samples = false;                   // of the GPU's instruction pointers, where GPU times are taken
  int repeat = 1;                         // tracing runs
  uint64_t max_trace_bytes = 0;           // of each process in each run; 0: the default
  bool follow_values = true;              // behind their first use, in a run of stage 4
  double max_overhead = 3;                // run time of a stage / the baseline's
  std::string region;                     // an NVTX range's name; empty: the whole run
  std::vector<std::string> own, library;  // folders: whose code is whose
  int top = 10;
  bool use_cache = true;
  std::string resume;    // the session to go on with; empty: a new one
  bool profile = false;  // one run, and no verdicts
  // Of a profile: recorded in windows (measuring/window_control.h), in place of all of it.
  double delay_s = 0;     // until the window opens
  double duration_s = 0;  // of it; 0: until the program ends
  double each_s = 0;      // from a window's begin to the next one's; 0: one alone
  bool wait = false;      // none opens by itself
  bool in_windows() const { return delay_s > 0 || duration_s > 0 || wait; }
  std::vector<std::string> command;
};

struct ReportOptions {
  std::string session;  // empty: the newest here
  std::string format = "text";
  int top = 10;
  double threshold_percent = -1;  // the session's own
  std::string model = "replay";
  std::vector<std::string> subsequences;  // G3:2-5
  std::string sort;                       // empty: benefit; of the tree the column that tells most
  std::string details, kind;              // "all" or an id; empty: the first findings. Kind: empty: any
  std::optional<int> rank, process;       // only what occurs there; none: anywhere
  int window = 0;                         // of a profile in windows; 0: the last
  bool sequences = false, profile = false, kernels = false;
  std::string tree;                  // top-down, bottom-up or flat; empty: none
  std::vector<std::string> columns;  // of the tree; empty: those that fit
  std::optional<int> depth;          // of the tree; none: what takes most
  std::vector<std::string> own, library;
};

struct StartOptions {
  std::string session;     // empty: the newest here
  double duration_s = 20;  // of the window
  int top = 10;
};

struct ExploreOptions {
  std::string session;            // empty: the newest here
  double threshold_percent = -1;  // the session's own
  std::string model = "replay";
  std::vector<std::string> own, library;
};

struct ExportOptions {
  std::string session;
  std::string format = "json";
  std::string file = "-";
  std::string model = "replay";
  std::vector<std::string> own, library;
  bool force = false;
};

struct DiffOptions {
  std::string before, now;
  std::string model = "replay";
  std::vector<std::string> own, library;
  int top = 20;
};

struct GateOptions {
  std::string session;            // empty: the newest here
  double fail_above_percent = 2;  // of the run time
  std::string allow;              // a file; empty: none
  std::string model = "replay";
  std::vector<std::string> own, library;
};

struct ProveOptions {
  std::string session;            // empty: the newest here
  std::vector<std::string> only;  // ids of findings; empty: all that can be corrected
  int pairs = 5;
  double timeout_s = 0;                // of a run; 0: Rounds says how long
  std::optional<uint64_t> pool_limit;  // bytes of device memory; none: half of what is free
  std::string model = "replay";
  std::vector<std::string> own, library;
};

struct DoctorOptions {
  DriverKind driver = DriverKind::system;
  std::vector<std::string> command;  // empty: no program is looked at
};

// Each returns the exit status.
int run(const RunOptions& options);
int profile(const RunOptions& options);
int report(const ReportOptions& options);
int start(const StartOptions& options);
int stop(const StartOptions& options);
int explore(const ExploreOptions& options);
int export_report(const ExportOptions& options);
int diff(const DiffOptions& options);
int gate(const GateOptions& options);
int prove(const ProveOptions& options);
int doctor(const DoctorOptions& options);

}  // namespace diogenes::launcher
