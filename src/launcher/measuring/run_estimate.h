// How long all runs will take together, told when the first has ended. In: the first run's time, and which
// runs follow. Out: one sentence. The overheads are those of usual programs.
#pragma once
#include <string>

namespace diogenes::launcher {

struct RunsToMake {
  double first_run_s = 0;
  bool plain_run = false;  // before the baseline
  int tracing = 1;
  bool follow_values = false;  // one more run, where needed waits cost much
  double max_overhead = 3;
};

// "3 runs, about 40 s in all"; "up to 9 runs, ..." where it depends on the program, as
// one more for what becomes of results does.
std::string runs_sentence(const RunsToMake& runs);

}  // namespace diogenes::launcher
