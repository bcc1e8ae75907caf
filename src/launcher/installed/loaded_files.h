// The files that a process of a stage had loaded. Source: its module map.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace diogenes::launcher {

std::vector<std::string> loaded_files(const std::filesystem::path& process_folder);

}  // namespace diogenes::launcher
