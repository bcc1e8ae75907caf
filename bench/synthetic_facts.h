// Stage 3's facts for a timeline of launches, copies and waits: what its calls read and wrote, what copies brought,
// when results were watched and touched, and when the GPU worked. For synthetic_session.
#pragma once
#include <cstdint>
#include <filesystem>

#include "analysis/testing/trace_builder.h"

namespace diogenes::testing {

// A loop's body: ten parts of uploads, kernels, waits, and downloads that are touched at once or later.
Timeline body_with_facts();

// Writes the stage's process. Out: how many watches there are.
uint32_t write_facts(const std::filesystem::path& stage_folder, const Timeline& trace,
                     const ProcessOptions& options);

}  // namespace diogenes::testing
