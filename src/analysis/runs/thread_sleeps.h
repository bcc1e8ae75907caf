// Did threads sleep until others let them go on? In: one run of stage 2.
#pragma once
#include <cstdint>
#include <filesystem>

namespace diogenes {

// How often, in the process where that was most often. 0: the run cannot be read.
uint64_t count_thread_sleeps(const std::filesystem::path& stage_folder);

}  // namespace diogenes
