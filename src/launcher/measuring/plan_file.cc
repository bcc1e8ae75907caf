#include "launcher/measuring/plan_file.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/watchpoints_fire.h"
#include "trace/format.h"

namespace diogenes::launcher {

Status write_plan(const std::filesystem::path& file, const PlanContents& contents) {
  if (contents.hooks.size() > static_cast<size_t>(kMaximumHooks))
    return error("%zu hooks are more than the %d that the agent takes", contents.hooks.size(), kMaximumHooks);
  Plan plan{};
  memcpy(plan.magic, kPlanMagic, sizeof plan.magic);
  plan.version = kPlanVersion;
  plan.stage = contents.stage;
  plan.build_id_length = contents.driver.length;
  memcpy(plan.build_id, contents.driver.bytes.data(), sizeof plan.build_id);
  plan.no_watchpoints = watchpoints_never_fire();
  plan.gpu_times = contents.gpu_times;
  plan.leaves_threads = contents.leaves_threads;
  plan.hook_count = static_cast<uint32_t>(contents.hooks.size());
  plan.recorded_bytes_limit = contents.recorded_bytes_limit;
  plan.max_overhead = contents.max_overhead;
  plan.baseline_ns = static_cast<int64_t>(contents.baseline_s * 1e9);
  plan.followed_count = static_cast<uint32_t>(contents.followed.size());
  plan.corrected_count = static_cast<uint32_t>(contents.corrected.size());
  plan.pool_limit = contents.pool_limit;
  plan.file_bytes = sizeof plan + contents.hooks.size() * sizeof(HookSite) +
                    contents.followed.size() * sizeof(FollowedPlace) +
                    contents.corrected.size() * sizeof(CorrectedSite);

  std::filesystem::path unfinished = file;
  unfinished += ".new";
  auto close = [](FILE* stream) { return stream ? fclose(stream) : 0; };
  std::unique_ptr<FILE, decltype(close)> out(fopen(unfinished.c_str(), "wbe"), close);
  auto put = [&](const void* data, size_t size, size_t count) {
    return count == 0 || fwrite(data, size, count, out.get()) == count;
  };
  bool written = out && put(&plan, sizeof plan, 1) &&
                 put(contents.hooks.data(), sizeof(HookSite), contents.hooks.size()) &&
                 put(contents.followed.data(), sizeof(FollowedPlace), contents.followed.size()) &&
                 put(contents.corrected.data(), sizeof(CorrectedSite), contents.corrected.size()) &&
                 fflush(out.get()) == 0;
  if (!written || rename(unfinished.c_str(), file.c_str()) != 0)
    return error("cannot write %s: %s; free some space or choose another --output", file.c_str(),
                 strerror(errno));
  return Done{};
}

uint64_t recorded_bytes_limit(const std::filesystem::path& folder, uint64_t wanted) {
  if (wanted > 0) return wanted;
  constexpr uint64_t kLimit = uint64_t{8} << 30;
  struct statvfs filesystem {};
  if (statvfs(folder.c_str(), &filesystem) != 0) return kLimit;
  return std::min<uint64_t>(kLimit, uint64_t{filesystem.f_bavail} * filesystem.f_frsize / 4);
}

}  // namespace diogenes::launcher
