// The report that a session keeps (analysis/report/kept_report.h), behind its key and checksum: what can be read is written as it
// was.
#include <string>

#include "analysis/report/kept_report.h"
#include "target.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  const std::string text(bytes.begin(), bytes.end());
  const std::optional<Report> report = report_of(text);
  if (!report) return;
  const std::string written = report_bytes(*report);
  const std::optional<Report> again = report_of(written);
  require(again.has_value(), "a report that was written can be read");
  require(report_bytes(*again) == written, "it is the same report");
}

}  // namespace diogenes::fuzz
