#include "analysis/findings/call_context.h"

#include <algorithm>
#include <cstring>

#include "analysis/findings/problem_kinds.h"

namespace diogenes {
namespace {

struct At {
  Nanoseconds begin;
  const Operation* operation;
  bool launch;
};

// Launches in a row, were one site's waits left out: those between a wait of another site and the next one.
class Rows {
 public:
  explicit Rows(std::vector<CallContext>& out) : out_(out) {}
  void launch() { ++launches_; }
  void wait(SiteIndex site) {
    if (!any_ || site != site_) {
      end();
      site_ = site;
      start_ = last_wait_;
      any_ = true;
    }
    note();
    last_wait_ = launches_;
  }
  void end() {
    if (any_) note();
  }

 private:
  void note() {
    uint64_t& most = out_[site_.value].most_launches;
    most = std::max(most, launches_ - start_);
  }

  std::vector<CallContext>& out_;
  SiteIndex site_;
  bool any_ = false;
  uint64_t launches_ = 0, last_wait_ = 0, start_ = 0;
};

bool is_elapsed(const DriverFunction* function) {
  return function && strcmp(function->operation, "cuEventElapsedTime") == 0;
}

// Calls see(At) for all launches and waits of a process, in the order of their begins.
template <typename See>
void in_order(const Process& process, const SiteTable& sites, std::vector<CallContext>& out, See see) {
  const bool several = process.threads.size() > 1;
  std::vector<At> order;
  for (const Thread& thread : process.threads) {
    const Operation* wait = nullptr;
    for (size_t i = 0; i < thread.operations.size(); ++i) {
      const Operation& operation = thread.operations[i];
      if (!is_candidate(operation)) continue;
      const DriverFunction* function = function_of(sites[operation.site]);
      if (wait && is_elapsed(function)) ++out[wait->site.value].elapsed_behind;
      wait = is_program_wait(operation) ? &operation : nullptr;
      bool launch = function && (function->role == Role::launch || function->role == Role::graph_launch);
      if (!launch && !wait) continue;
      const At at{operation.begin, &operation, launch};
      if (several)
        order.push_back(at);
      else
        see(at);
    }
  }
  std::stable_sort(order.begin(), order.end(), [](const At& a, const At& b) { return a.begin < b.begin; });
  for (const At& at : order) see(at);
}

void walk(const Process& process, const SiteTable& sites, std::vector<CallContext>& out) {
  Rows rows(out);
  bool launched = false;
  in_order(process, sites, out, [&](const At& at) {
    if (at.launch) {
      rows.launch();
      launched = true;
    }
    if (!is_program_wait(*at.operation)) return;
    CallContext& site = out[at.operation->site.value];
    ++site.waits;
    site.errors_first += launched;
    launched = false;
    rows.wait(at.operation->site);
  });
  rows.end();
}

}  // namespace

std::vector<CallContext> call_contexts_of(const Run& run, const SiteTable& sites) {
  std::vector<CallContext> result(sites.size());
  for (const Process& process : run.processes) walk(process, sites, result);
  return result;
}

}  // namespace diogenes
