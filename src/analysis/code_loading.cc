#include "analysis/code_loading.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "analysis/words.h"

namespace diogenes {
namespace {

constexpr Nanoseconds kLongLaunch{1'000'000};
constexpr double kWorthAWord = 0.001;  // of the run time
constexpr size_t kMostFiles = 3;       // named

std::string share(Nanoseconds time, double runtime_s) {
  const std::string text = time.seconds() < 1 ? fmt::format("{:.3g} ms", 1e3 * time.seconds())
                                              : fmt::format("{:.3g} s", time.seconds());
  if (runtime_s <= 0) return text;
  return text + fmt::format(" ({:.1f}% of the run time)", 100 * time.seconds() / runtime_s);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

CodeLoading code_loading(const Run& tracing, const SiteTable& sites) {
  CodeLoading result;
  std::map<uint32_t, Nanoseconds> ptx_by_site;
  std::vector<bool> launched(sites.size());
  for (const Process& process : tracing.processes)
    for (const Thread& thread : process.threads)
      for (const Operation& operation : thread.operations) {
        const DriverFunction* function = function_of(sites[operation.site]);
        if (!function) continue;
        if (function->role == Role::module) {
          ++result.loads;
          result.load_time += operation.call;
          if (!operation.ptx) continue;
          ++result.ptx_loads;
          result.ptx_time += operation.call;
          ptx_by_site[operation.site.value] += operation.call;
        } else if (function->role == Role::launch && !launched[operation.site.value]) {
          launched[operation.site.value] = true;
          if (operation.own() >= kLongLaunch) result.first_launches += operation.own();
        }
      }
  Nanoseconds most{-1};
  for (const auto& [site, time] : ptx_by_site)
    if (time > most) {
      most = time;
      result.ptx_site = SiteIndex{site};
    }
  return result;
}

void code_loading_notices(const std::vector<GpuCodeRecord>& files, const CodeLoading& loading,
                          ComputeCapability gpu, double runtime_s,
                          const std::function<std::string(SiteIndex)>& place,
                          std::vector<ReportNotice>& notices) {
  if (!files.empty()) {
    std::string text =
        "the driver compiled GPU code in this run, or took it from its cache of earlier runs: ";
    for (size_t i = 0; i < files.size() && i < kMostFiles; ++i)
      text += (i > 0 ? "; " : "") + files[i].file + " has only PTX for this GPU in " +
              counted(files[i].compiled, "source file", "source files") + " of " +
              grouped(files[i].compiled + files[i].native + files[i].neither) + " (built for " +
              listed(files[i].built_for) + ")";
    if (files.size() > kMostFiles)
      text += "; and " + std::to_string(files.size() - kMostFiles) + " more files";
    text += ". Loading code took " + share(loading.load_time, runtime_s);
    if (loading.first_launches.count > 0)
      text += ", first launches, in which code may be loaded, " + share(loading.first_launches, runtime_s);
    text += ". Compile with " + compiler_options_for(gpu);
    notices.push_back({"jit", text});
  }
  if (loading.ptx_loads == 0 || loading.ptx_time.seconds() < kWorthAWord * runtime_s) return;
  const std::string at = place(loading.ptx_site);
  const std::string number = std::to_string(10 * gpu.major + gpu.minor);
  notices.push_back({"jit", counted(loading.ptx_loads, "module was", "modules were") +
                                " given to the driver as PTX" + (at.empty() ? "" : ", most of it at " + at) +
                                ", which it compiles or takes from its cache of earlier runs: that took " +
                                share(loading.ptx_time, runtime_s) +
                                ". A cubin needs no compiler: nvcc -cubin -arch=sm_" + number +
                                ", or nvrtcGetCUBIN() with --gpu-architecture=sm_" + number});
}

}  // namespace diogenes
