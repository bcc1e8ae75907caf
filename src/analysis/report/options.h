// What a report is asked for.
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/necessity/judge_process.h"
#include "analysis/replay/models.h"
#include "analysis/symbols/frame_owner.h"
#include "trace/session.h"

namespace diogenes {

// `--subsequence G3:2-5`: entries 2 to 5 of the sequence that the report calls G3.
struct PartOfSequence {
  std::string group;
  size_t first = 0, last = 0;
};
struct AnalysisOptions {
  double threshold_percent =
      -1;  // of the GPU phase, for misplaced synchronizations; below 0: the session's own
  Model model = Model::replay;
  std::vector<PartOfSequence> parts;  // to estimate beside the groups that are found
  JudgeProcess judge = nullptr;       // for tests; null: the judges
  std::set<std::string> allowed;      // source keys that `together` leaves out
  OwnerChoices owners;                // added to the session's own
  // What the files that the program had loaded need of the driver, if it is found meanwhile; asked last. None: the session's.
  std::function<std::vector<GpuCodeRecord>()> gpu_code;
  size_t timeline = 0;  // intervals that the report's timeline may have; 0: it has none
  uint32_t window = 0;  // of a profile that was recorded in windows: which one, from 1; 0: the last
  std::string tracing_run = "tracing";  // whose figures they are; those of its repeats are united with them
  // Problems by their keys, set by set: these are the report's groups, in place of those that are found.
  std::optional<std::vector<std::set<std::string>>> groups;
};

}  // namespace diogenes
