#include "launcher/measuring/nvtx_region.h"

#include <unistd.h>

#include "launcher/measuring/target_environment.h"
#include "trace/nvtx_ranges.h"

namespace diogenes::launcher {

Status check_region(const std::string& region, const std::vector<std::string>& environment,
                    const Installation& installation) {
  if (region.empty()) return Done{};
  if (const std::string theirs = value_of(environment, kNvtxVariable); !theirs.empty())
    return error(
        "%s=%s takes the program's NVTX calls, which go to one tool: --region cannot be used beside it; unset it, "
        "or leave out --region",
        kNvtxVariable, theirs.c_str());
  if (access(installation.nvtx.c_str(), R_OK) != 0)
    return error("--region needs %s, which is missing; keep bin/ and lib/ of the installation side by side",
                 installation.nvtx.c_str());
  return Done{};
}

}  // namespace diogenes::launcher
