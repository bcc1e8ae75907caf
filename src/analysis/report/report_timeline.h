// What ran when: threads of the CPU and streams of the GPU, as the views draw them. Part of the report, of a bounded
// size: where there are more events than that, short neighbours are one interval (timeline.h). Not in the JSON.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace diogenes {

// A call of a thread, or a piece of work of a stream; or several short ones, near each other and of one finding.
struct ReportInterval {
  double begin_s = 0, end_s = 0;  // since the first process started
  double busy_s = 0;              // in it: all of it, unless it is several
  double waited_s = 0;            // of that: waited for the GPU
  uint32_t count = 1;             // calls or pieces of work
  uint32_t name = 0;              // in ReportTimeline::names; of several: of the longest
  int32_t problem = -1;           // position in Report::problems; -1: none
  int32_t required = -1;          // position in Report::required; -1: none
};

struct ReportLane {
  enum class Kind : uint8_t { thread, stream } kind{};
  uint32_t process = 0;                   // position in ReportTimeline::processes
  std::string name;                       // "main thread", "thread 2", "stream 1", "default stream"
  uint64_t events = 0;                    // before any were merged
  std::vector<ReportInterval> intervals;  // by begin; several may begin where others have not ended
};

struct ReportTimeline {
  double duration_s = 0;               // until the last event ends
  std::vector<std::string> names;      // of driver functions, and of kinds of GPU work
  std::vector<std::string> processes;  // "als", "rank 1: als"
  std::vector<ReportLane> lanes;       // by process; its threads, then its streams
  uint64_t events = 0, merged = 0;     // merged: those that share their interval with others
  double merged_below_s = 0;           // events this long or longer are never merged; 0: none is
  std::vector<double> full_at_s;  // begins of stretches in which nothing is merged; empty: nothing is at all
  double full_length_s = 0;       // of each
  bool gpu_times = false;         // how long GPU work took was measured; else there are no streams
};

}  // namespace diogenes
