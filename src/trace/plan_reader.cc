#include "trace/plan_reader.h"

#include <algorithm>
#include <cstring>

#include "ffm/plan.h"
#include "trace/mapped_file.h"

namespace diogenes {

std::vector<uint16_t> planned_functions(const std::filesystem::path& stage_folder) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(stage_folder, failed)) {
    if (!entry.is_regular_file(failed)) continue;
    auto file = MappedFile::open(entry.path());
    const Plan* plan = file ? file->at<Plan>(0) : nullptr;
    if (!plan || memcmp(plan->magic, kPlanMagic, sizeof kPlanMagic) != 0) continue;
    std::vector<uint16_t> functions;
    uint64_t offset = sizeof(Plan);
    for (uint32_t i = 0; i < plan->hook_count; ++i, offset += sizeof(HookSite)) {
      const HookSite* site = file->at<HookSite>(offset);
      if (!site) break;
      functions.push_back(site->function);
    }
    return functions;
  }
  return {};
}

}  // namespace diogenes
