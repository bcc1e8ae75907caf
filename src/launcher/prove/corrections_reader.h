// What the correctors of one run counted (trace/corrections.h), all its processes together.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>

#include "trace/corrections.h"

namespace diogenes::launcher {

struct CountsOfRun {
  std::map<uint64_t, CorrectionCounts> by_site;  // by the site's key
  uint64_t awaited = 0, failed = 0, ordered = 0;
  double awaited_s = 0, looked_s = 0, correcting_s = 0, passing_s = 0;
  // From the first call at a place of the plan to the end, CLOCK_MONOTONIC; of several processes, from the first to the
  // last. 0: there was none, or one of them was killed.
  int64_t begun_ns = 0, ended_ns = 0;

  double from_first_call_s() const { return static_cast<double>(ended_ns - begun_ns) / 1e9; }
  // The same without what our hooks took at calls of the plan that were made, which they do not take where one is not made.
  double unhooked_s() const { return from_first_call_s() - passing_s; }
  void add(const CountsOfRun& other);
  CorrectionCounts all_sites() const;
};

// `run_folder`: of the proving run. What cannot be read counts nothing.
CountsOfRun read_counts(const std::filesystem::path& run_folder);

const char* undeferred_text(Undeferred why);  // "results share a page with other data"

}  // namespace diogenes::launcher
