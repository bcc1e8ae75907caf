// The runs of `diogenes prove`: the session's program as it is, and corrected. In: a session, the corrections. Out: how long
// each run took, whether its results were the session's, and what its correctors counted.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/installed/driver_choice.h"
#include "launcher/installed/installation.h"
#include "launcher/process/program_file.h"
#include "launcher/process/standard_streams.h"
#include "launcher/prove/choice.h"
#include "launcher/prove/corrections_reader.h"
#include "trace/session.h"

namespace diogenes::launcher {

struct TrialRun {
  double runtime_s = 0;
  std::filesystem::path folder;  // with `stdout` and `stderr`, as far as they were kept
  std::string ended;             // how it ended otherwise than the session's first run; empty: it did not
  bool timed_out = false;        // we ended it
  CountsOfRun counts;
};

class Trial {
 public:
  Trial(std::filesystem::path session_folder, Session session, uint64_t pool_limit);

  // Error: why the program cannot be run as it was.
  Status open();
  // `correction` null: as it is. After `limit_s` the run is ended. Error: no further runs; they were interrupted, or cannot be
  // made.
  Result<TrialRun> run(const Correction* correction, double limit_s);

 private:
  std::filesystem::path folder_, runs_;  // runs_: of these runs, in the session
  Session session_;
  uint64_t pool_limit_;
  Installation installation_;
  FoundProgram program_;
  std::vector<std::string> environment_;
  std::optional<DriverHooks> driver_;
  std::optional<StandardStreams> streams_;
  int made_ = 0;
};

}  // namespace diogenes::launcher
