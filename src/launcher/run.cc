// `diogenes run`: the five stages, in order. Each call does one stage and says whether there is reason to go
// on.
#include "launcher/measurement.h"
#include "launcher/options.h"

namespace diogenes::launcher {

int run(const RunOptions& options) {
  Measurement measurement(options);
  if (!measurement.open()) return measurement.exit_status();

  bool more = !options.plain_run || measurement.plain_run();
  more = more && measurement.baseline();
  more = more && measurement.tracing();
  more = more && measurement.gpu_times();
  more = more && measurement.memory_tracing();
  more = more && measurement.sync_use();
  measurement.analysis();
  return measurement.exit_status();
}

}  // namespace diogenes::launcher
