// The lines of a program's source around a place, as they were when it was measured. In: a file and a line as DWARF or
// Python name them. Out: the lines; none where the file is not there, or was changed since.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

class SourceLines {
 public:
  // `measured_at`: CLOCK_REALTIME, nanoseconds. A file that was written later is not what ran.
  explicit SourceLines(int64_t measured_at) : measured_at_(measured_at) {}

  // `line` with `around` lines on each side, as far as there are any.
  ReportSource at(const std::string& file, int line, int around = 2);
  // From the first to the last of them, as far as there are any.
  ReportSource between(const std::string& file, int first, int last);

 private:
  const std::vector<std::string>& lines_of(const std::string& file);

  int64_t measured_at_;
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace diogenes
