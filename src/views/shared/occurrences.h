// In which processes and threads of the program something occurs, in words; and what occurs in those that a reader
// asked for.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report.h"
#include "base/result.h"

namespace diogenes {

// Which processes a reader wants to see. Nothing: all.
struct ProcessChoice {
  std::optional<int> rank, pid;
  bool all() const { return !rank && !pid; }
};

// Is there such a process? The error names those that there are.
Status check_choice(const Report& report, const ProcessChoice& choice);

// How often it occurs in these.
uint64_t count_in(const std::vector<ReportProcess>& processes,
                  const std::vector<ReportOccurrence>& occurrences, const ProcessChoice& choice);

// "rank 0: 480 times, rank 1: 2 times"; "all 4 ranks, 120 times each"; of one process its threads: "main thread: 3
// times, thread 2: 1 time". "": it occurs in the main thread of the only process.
std::string occurrences_text(const std::vector<ReportProcess>& processes,
                             const std::vector<ReportOccurrence>& occurrences);

}  // namespace diogenes
