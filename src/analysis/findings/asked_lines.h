// Lines of the application that ask for results, or send data again and again: the needed waits and copies of each, and all that
// goes where it does neither. In: the joined run of stage 2, what stage 3 says of each site, the problems. Out: a line for each
// place, in the order of their first calls.
#pragma once
#include "analysis/findings/asked_line.h"

namespace diogenes {

struct AskedLines {
  std::vector<AskedLine> lines;
  std::vector<uint64_t> waits;  // by site: all waits, needed or not
};

AskedLines asked_lines(const ProblemInput& input, const std::vector<Problem>& problems, const Lines& places);

}  // namespace diogenes
