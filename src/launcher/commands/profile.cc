// `diogenes profile`: one run of the program with GPU times, and where its time went. Nothing is judged.
#include "launcher/measuring/measurement.h"
#include "launcher/options.h"

namespace diogenes::launcher {

int profile(const RunOptions& options) {
  Measurement measurement(options);
  if (!measurement.open()) return measurement.exit_status();
  const bool complete = measurement.profile();
  if (options.in_windows())
    measurement.windows();
  else
    measurement.analysis(complete);
  return measurement.exit_status();
}

}  // namespace diogenes::launcher
