// `--region`: can the program's NVTX ranges be heard? In: the user's environment. NVTX gives its calls to one tool, the one
// that NVTX_INJECTION64_PATH names: what the user has set there stays.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/installed/installation.h"

namespace diogenes::launcher {

// The error says what is in the way. `region` empty: nothing is.
Status check_region(const std::string& region, const std::vector<std::string>& environment,
                    const Installation& installation);

}  // namespace diogenes::launcher
