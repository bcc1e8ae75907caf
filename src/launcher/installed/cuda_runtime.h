// Programs of the CUDA runtime API, which the simulated driver does not serve.
#pragma once
#include <filesystem>

namespace diogenes::launcher {

// Is the file linked with libcudart, shared or static? Told by what it needs, by nvcc's code in it, or by its symbols.
bool is_linked_with_runtime(const std::filesystem::path& file);

// Did a process of this stage's run have it loaded?
bool used_runtime(const std::filesystem::path& stage_folder);

inline constexpr const char* kSimulatedServesDriverApi =
    "the simulated driver serves the CUDA driver API, not the runtime API (libcudart)";

}  // namespace diogenes::launcher
