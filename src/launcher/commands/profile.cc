// `diogenes profile`: one run of the program with GPU times, and where its time went. Nothing is judged.
#include "launcher/measuring/measurement.h"
#include "launcher/options.h"

namespace diogenes::launcher {

int profile(const RunOptions& options) {
  Measurement measurement(options);
  if (!measurement.open()) return measurement.exit_status();
  measurement.analysis(measurement.profile());
  return measurement.exit_status();
}

}  // namespace diogenes::launcher
