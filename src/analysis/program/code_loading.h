// What loading GPU code took, and where the driver had to compile it: programs that were built for other GPUs, and
// programs that hand it PTX. In: what the launcher found in the files that the program had loaded, and the loads of
// the tracing run. Out: a notice for each cause, with the compiler options that avoid it. Source of the check: Welton
// and Miller, CCGrid'18, section VI.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "analysis/program/gpu_code.h"
#include "analysis/report/report.h"
#include "analysis/runs/run.h"
#include "trace/session.h"

namespace diogenes {

struct CodeLoading {
  uint64_t loads = 0, ptx_loads = 0;
  Nanoseconds load_time, ptx_time;  // of these calls
  Nanoseconds first_launches;  // of those that took long: code is loaded, and compiled, when it is first used
  SiteIndex ptx_site;          // where most time goes into loads of PTX
};
CodeLoading code_loading(const Run& tracing, const SiteTable& sites);

// `is_own`: whether a file is the application's. `place`: of a site, as the user knows it, or "".
void code_loading_notices(const std::vector<GpuCodeRecord>& files, const CodeLoading& loading,
                          ComputeCapability gpu, double runtime_s,
                          const std::function<bool(const std::string&)>& is_own,
                          const std::function<std::string(SiteIndex)>& place,
                          std::vector<ReportNotice>& notices);

}  // namespace diogenes
