// Which functions a stage's plan hooks (ffm/plan.h), for naming the hooks that were left out.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace diogenes {

// By position in the plan: a catalogue index or kWaitFunction. Empty where the stage's folder holds no plan
// that can be read.
std::vector<uint16_t> planned_functions(const std::filesystem::path& stage_folder);

}  // namespace diogenes
