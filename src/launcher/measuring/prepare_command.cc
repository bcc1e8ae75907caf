#include "launcher/measuring/prepare_command.h"

#include <fcntl.h>
#include <unistd.h>

#include "launcher/process/target_process.h"

namespace diogenes::launcher {

Prepared run_prepare_command(const std::string& command, const std::vector<std::string>& environment) {
  if (command.empty()) return {};
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const Target shell{.program = "/bin/sh",
                     .arguments = {"sh", "-c", command},
                     .environment = environment,
                     .input = {.kind = StreamRoute::Kind::open, .fd = nothing},
                     .output = {.kind = StreamRoute::Kind::open, .fd = STDERR_FILENO},
                     .errors = {}};
  Result<TargetResult> result = run_target(shell);
  if (nothing >= 0) close(nothing);
  if (!result) return {result.error().c_str(), 0};
  const bool good = result->exec_error == 0 && result->exit_status == 0 && result->interrupted_by == 0;
  return {good ? "" : ended_text(result->exit_status, result->signal), result->interrupted_by};
}

}  // namespace diogenes::launcher
