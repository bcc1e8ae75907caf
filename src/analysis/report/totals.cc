#include "analysis/report/totals.h"

#include <algorithm>
#include <vector>

#include "analysis/benefit/graph.h"
#include "analysis/report/notices.h"
#include "analysis/symbols/wording.h"

namespace diogenes {

// Waits on threads that make no public call (the driver's own) are kept apart.
void add_totals(const Run& tracing, const SiteTable& sites, Report& report,
                std::map<std::string, ReportFunction>& functions) {
  uint64_t private_waits = 0, failed_waits = 0;
  std::vector<ReportFunction*> of_site(sites.size());
  for (const Process& process : tracing.processes)
    for (const Thread& thread : process.threads) {
      const auto& operations = thread.operations;
      bool of_program = std::any_of(operations.begin(), operations.end(),
                                    [](const Operation& operation) { return !operation.has(kDriverThread); });
      for (const Operation& operation : operations) {
        if (!of_program) continue;
        const Site& site = sites[operation.site];
        const DriverFunction* function = function_of(site);
        ReportFunction*& known = of_site[operation.site.value];
        if (!known) known = &functions[operation_name(site)];
        ReportFunction& entry = *known;
        ++entry.count;
        entry.call_s += operation.call.seconds();
        entry.waited_s += operation.waited.seconds();
        report.waited_s += operation.waited.seconds();
        report.synchronizations += is_wait(operation) && !operation.has(kCapturing);
        private_waits += operation.has(kDriverThread) && is_wait(operation);
        failed_waits += operation.has(kFailed) && is_wait(operation) && function &&
                        (function->role == Role::synchronize || function->role == Role::transfer);
        if (function && function->role == Role::transfer && !operation.has(kFailed) &&
            !operation.has(kCapturing)) {
          ++report.transfers;
          report.transferred_bytes += operation.bytes.count;
        }
      }
    }
  if (private_waits > 0)
    report.notices.push_back(
        {"private-waits",
         counted(private_waits, "wait", "waits") +
             " happened outside every function that was hooked (private interface of the driver); they count "
             "as needed"});
  if (failed_waits > 0)
    report.notices.push_back(
        {kWorkFailed, counted(failed_waits, "wait", "waits") +
                          " failed: work that the GPU had been given ended in an error"});
}

}  // namespace diogenes
