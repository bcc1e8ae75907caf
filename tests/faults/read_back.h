// Does a run's trace hold what the program `counted` did? In: the folder of one run, and what the program
// counted. Out: figures, and a sentence for everything that is missing or wrong.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "counted.h"

namespace diogenes::faults {

struct ReadBack {
  uint64_t returned = 0;  // calls that the program counted and that have to be in the trace
  uint64_t records = 0;   // of them, or of calls that had not returned yet, that are there
  std::vector<std::string> wrong;
};

// Of the baseline, which records paths to the wait function and not calls, `returned` is the paths that were
// taken.
ReadBack read_back(const std::filesystem::path& run_folder, const Counted& counted);

}  // namespace diogenes::faults
