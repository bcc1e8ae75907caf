// What all pages of the explorer see.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace diogenes::explorer {

// What fixing some problems together gains, or why that is not known.
struct Estimate {
  ReportTogether figure;
  std::string error;  // "": none
};
using Estimates =
    std::map<std::vector<std::string>, Estimate>;  // by the problems' ids, in the order of the program

struct Context {
  const Report& report;
  const std::string& folder;  // paths are shown relative to it
  const Estimates& estimates;
};

}  // namespace diogenes::explorer
