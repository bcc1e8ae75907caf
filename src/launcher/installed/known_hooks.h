// What was planned for a driver before, kept in the cache's folder: decoding a libcuda takes longer than many a program runs.
// Of the same build of the driver and of this program alone. A file that is damaged or of another build is no error: it is as
// if there were none. The agent compares the driver's bytes with each hook's all the same.
#pragma once
#include <filesystem>
#include <optional>

#include "launcher/installed/driver_hooks.h"

namespace diogenes::launcher {

std::optional<DriverHooks> read_known_hooks(const std::filesystem::path& cache, const ChosenDriver& driver);
// Only hooks with a wait function, which need not be looked for again. What cannot be written is left.
void keep_hooks(const std::filesystem::path& cache, const DriverHooks& hooks);

}  // namespace diogenes::launcher
