// `diogenes run`: the stages, in order. Each call does one stage and says whether there is reason to go on.
// Stage 4 is run by the analysis, where that needs it.
#include "launcher/measuring/measurement.h"
#include "launcher/options.h"

namespace diogenes::launcher {

int run(const RunOptions& options) {
  Measurement measurement(options);
  if (!measurement.open()) return measurement.exit_status();

  bool more = !options.plain_run || measurement.plain_run();
  more = more && measurement.baseline();
  more = more && measurement.tracing();
  more = more && measurement.memory_tracing();
  measurement.analysis(more);
  return measurement.exit_status();
}

}  // namespace diogenes::launcher
