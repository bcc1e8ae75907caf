// Lines of the application that ask for results: the needed waits of each, and all that goes where it does not ask. In: the joined
// run of stage 2, what stage 3 says of each site, the problems. Out: a line for each place, in the order of their first waits.
#pragma once
#include <map>

#include "analysis/findings/required.h"

namespace diogenes {

// One line, while its calls are gathered.
struct AskedLine {
  Required required;
  std::map<std::pair<SiteIndex, bool>, uint64_t> calls;  // how many, by site and whether they wait
  std::vector<Change> changes;
  std::vector<Change> whole;  // `changes`, and what the line gives the GPU for its waits
  std::vector<int64_t> after;
  Nanoseconds most;  // that it can gain
};

struct AskedLines {
  std::vector<AskedLine> lines;
  std::vector<uint64_t> waits;  // by site: all waits, needed or not
};

AskedLines asked_lines(const ProblemInput& input, const std::vector<Problem>& problems, const Lines& places);

}  // namespace diogenes
