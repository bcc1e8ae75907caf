// The report as text: what a user reads first. Findings ranked by expected benefit, groups before the
// problems inside them, short unless asked for more; then the profiler's view beside it (SC'19, Table 2),
// then what the reader must know about the measurement, and last what to type next. ASCII only; colours only
// where asked for.
#pragma once
#include <string>

#include "analysis/report.h"

namespace diogenes {

struct TextOptions {
  int top = 10;     // findings, functions and sequences shown; 0 or less: all
  int width = 100;  // characters a line; paths and commands are never broken
  bool color = false;
  std::string working_folder;  // paths are shown relative to it
  std::string session;         // as its user would type it; "": the newest
};

std::string to_text(const Report& report, const TextOptions& options = {});

}  // namespace diogenes
