// What the correctors of one run counted (trace/corrector.h), all its processes together.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>

#include "trace/corrector.h"

namespace diogenes::launcher {

struct CountsOfRun {
  std::map<uint64_t, CorrectionCounts> by_site;  // by the site's key
  uint64_t awaited = 0, failed = 0;
  double awaited_s = 0, looked_s = 0;

  void add(const CountsOfRun& other);
  CorrectionCounts all_sites() const;
};

// `run_folder`: of the proving run. What cannot be read counts nothing.
CountsOfRun read_counts(const std::filesystem::path& run_folder);

const char* undeferred_text(Undeferred why);  // "results share a page with other data"

}  // namespace diogenes::launcher
