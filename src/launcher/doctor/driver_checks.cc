#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "driver/discovery/discovery.h"
#include "launcher/doctor/checks.h"
#include "launcher/installed/cupti.h"
#include "launcher/installed/gpu_sampling.h"
#include "launcher/measuring/target_environment.h"

namespace diogenes::launcher {
namespace {

std::optional<ComputeCapability> check_gpu(Checks& checks, const ChosenDriver& driver,
                                           const Installation& installation) {
  if (!driver.simulated && access("/dev/nvidiactl", F_OK) != 0) {
    checks.problem("GPU", "no /dev/nvidiactl: no GPU, or the container was started without it (--gpus all)");
    return std::nullopt;
  }
  if (!driver.simulated && access("/dev/nvidiactl", R_OK | W_OK) != 0) {
    checks.problem("GPU", fmt::format("/dev/nvidiactl: {}; ask for access to it", strerror(errno)));
    return std::nullopt;
  }
  Result<FirstDevice> device = first_device(driver.library, installation.discover);
  if (!device) {
    checks.problem("GPU", device.error().c_str());
    return std::nullopt;
  }
  checks.ok("GPU", fmt::format("{}, compute capability {}.{}{}", device->name, device->major, device->minor,
                               device->count > 1 ? fmt::format("; {} devices", device->count) : ""));
  return ComputeCapability{device->major, device->minor};
}

void check_sampling(Checks& checks, const std::string& driver_version) {
  const std::filesystem::path cupti =
      find_cupti(own_environment(), cuda_version_of(driver_version), usual_toolkits());
  const std::string problem = sampling_problem(sampling_situation(cupti));
  if (problem.empty())
    checks.ok("GPU samples", fmt::format("can be taken, with {}", cupti.string()));
  else
    checks.note("GPU samples", "cannot be taken: " + problem);
}

}  // namespace

std::optional<ComputeCapability> check_driver(Checks& checks, DriverKind kind,
                                              const Installation& installation) {
  Result<ChosenDriver> driver = choose_driver(kind, installation);
  if (!driver) {
    checks.problem("driver", driver.error().c_str());
    return std::nullopt;
  }
  const std::optional<ComputeCapability> gpu = check_gpu(checks, *driver, installation);
  Result<DriverHooks> hooks = prepare_driver(*driver, installation, true);
  if (!hooks) {
    checks.problem("driver", hooks.error().c_str());
    return gpu;
  }
  checks.ok("driver", driver->library.string());
  checks.ok("driver build", fmt::format("{}, version {}", hooks->build_id_text,
                                        hooks->version.empty() ? "unknown" : hooks->version));
  for (auto& wait : hooks->wait_functions) {
    if (wait.queue)
      checks.ok("launch-queue wait", fmt::format("+{:#x}", wait.offset));
    else
      checks.ok("wait function",
                fmt::format("+{:#x}, agreed on by {} of {} known waits{}", wait.offset, wait.agreed,
                            wait.known, hooks->from_cache ? " (known build)" : ""));
  }
  if (hooks->wait_functions.empty())
    checks.problem("wait function", "not found: only waits in public driver functions will be timed");
  checks.ok("hooks", fmt::format("{} can be placed", hooks->all.size()));
  for (auto& problem : hooks->problems) checks.note("driver", problem);
  if (!driver->simulated) check_sampling(checks, hooks->version);
  return gpu;
}

}  // namespace diogenes::launcher
