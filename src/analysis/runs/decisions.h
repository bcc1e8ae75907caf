// What early runs tell, for which later ones are made.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace diogenes {

// Stage 1's decision: catalogue symbols of the public functions on whose stacks the wait function was entered.
Result<std::vector<std::string>> waiting_functions(const std::filesystem::path& baseline_folder);

// Did threads of stage 2's run sleep until others let them go on? How often, in the process where that was most often.
// 0: the run cannot be read.
uint64_t count_thread_sleeps(const std::filesystem::path& stage_folder);

}  // namespace diogenes
