#include "agent/core/running_stage.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "trace/format.h"

namespace diogenes::agent {

namespace {
MappedPlan mapped;

bool well_formed(const Plan& plan, uint64_t size) {
  return memcmp(plan.magic, kPlanMagic, sizeof kPlanMagic) == 0 && plan.version == kPlanVersion &&
         plan.file_bytes == size && plan.hook_count <= kMaximumHooks && plan.build_id_length <= 20 &&
         plan.followed_count <= kMostFollowedPlaces && plan.corrected_count <= kMostCorrectedSites &&
         sizeof(Plan) + plan.hook_count * sizeof(HookSite) + plan.followed_count * sizeof(FollowedPlace) +
                 plan.corrected_count * sizeof(CorrectedSite) ==
             size;
}
}  // namespace

bool load_plan() {
  const char* path = getenv(kPlanVariable);
  if (!path || path[0] != '/' || strlen(path) >= sizeof mapped.folder) return false;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const off_t size = lseek(file, 0, SEEK_END);
  void* memory = MAP_FAILED;
  if (size >= static_cast<off_t>(sizeof(Plan)))
    memory = mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (memory == MAP_FAILED) return false;
  auto* header = static_cast<const Plan*>(memory);
  if (!well_formed(*header, static_cast<uint64_t>(size))) {
    munmap(memory, static_cast<size_t>(size));
    return false;
  }
  mapped.hooks = reinterpret_cast<const HookSite*>(header + 1);
  strcpy(mapped.folder, path);
  *strrchr(mapped.folder, '/') = 0;
  mapped.plan = header;
  return true;
}

const MappedPlan& plan() { return mapped; }

bool takes_gpu_times() { return mapped.plan && mapped.plan->gpu_times != 0; }

bool stage_follows_threads() {
  return mapped.plan && mapped.plan->stage != Stage::baseline && mapped.plan->stage != Stage::proving;
}

bool stage_uses_guards() {
  return mapped.plan && (mapped.plan->stage == Stage::memory_tracing ||
                         mapped.plan->stage == Stage::sync_use || mapped.plan->stage == Stage::proving);
}

}  // namespace diogenes::agent
