#include "analysis/program/code_loading.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "analysis/symbols/wording.h"

namespace diogenes {
namespace {

constexpr Nanoseconds kLongLaunch{1'000'000};
constexpr double kWorthAWord = 0.001;  // of the run time
// A library of which so little has to be compiled is named only where loading code took much.
constexpr double kFewParts = 0.01, kMuchLoading = 0.01;
constexpr size_t kMostFiles = 3;  // named

std::string share(Nanoseconds time, double runtime_s) {
  const std::string text = time.seconds() < 1 ? fmt::format("{:.3g} ms", 1e3 * time.seconds())
                                              : fmt::format("{:.3g} s", time.seconds());
  if (runtime_s <= 0) return text;
  return text + fmt::format(" ({:.1f}% of the run time)", 100 * time.seconds() / runtime_s);
}

uint64_t entries_of(const GpuCodeRecord& file) { return file.compiled + file.native + file.neither; }

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

namespace {

using Files = std::vector<const GpuCodeRecord*>;

std::string only_ptx(const Files& files) {
  std::string text;
  for (size_t i = 0; i < files.size() && i < kMostFiles; ++i)
    text += (i > 0 ? "; " : "") + files[i]->file + " has only PTX for this GPU in " +
            counted(files[i]->compiled, "source file", "source files") + " of " +
            grouped(entries_of(*files[i])) + " (built for " + listed(files[i]->built_for) + ")";
  if (files.size() > kMostFiles) text += "; and " + std::to_string(files.size() - kMostFiles) + " more files";
  return text;
}

// What loading this file's code took is not known; it is no more than all loading took.
bool library_matters(const GpuCodeRecord& file, const CodeLoading& loading, double runtime_s) {
  const bool few = static_cast<double>(file.compiled) < kFewParts * static_cast<double>(entries_of(file));
  const Nanoseconds took = loading.load_time + loading.first_launches;
  return took.seconds() >= (few ? kMuchLoading : kWorthAWord) * runtime_s;
}

std::string loading_took(const CodeLoading& loading, double runtime_s) {
  std::string text = "Loading code took " + share(loading.load_time, runtime_s);
  if (loading.first_launches.count > 0)
    text += ", first launches, in which code may be loaded, " + share(loading.first_launches, runtime_s);
  return text;
}

}  // namespace

void code_loading_notices(const std::vector<GpuCodeRecord>& files, const CodeLoading& loading,
                          ComputeCapability gpu, double runtime_s,
                          const std::function<bool(const std::string&)>& is_own,
                          const std::function<std::string(SiteIndex)>& place,
                          std::vector<ReportNotice>& notices) {
  Files own, libraries;
  for (const GpuCodeRecord& file : files) {
    if (is_own(file.file))
      own.push_back(&file);
    else if (library_matters(file, loading, runtime_s))
      libraries.push_back(&file);
  }
  if (!own.empty())
    notices.push_back(
        {"jit", "the driver compiled GPU code in this run, or took it from its cache of earlier runs: " +
                    only_ptx(own) + ". " + loading_took(loading, runtime_s) + ". Compile with " +
                    compiler_options_for(gpu)});
  if (!libraries.empty())
    notices.push_back(
        {"jit",
         "libraries lack code for this GPU, so the driver compiles it when it is used, or takes it from its "
         "cache of earlier runs: " +
             only_ptx(libraries) + ". " + loading_took(loading, runtime_s) +
             ". A newer version of a library may have code for this GPU"});
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
