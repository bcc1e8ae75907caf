#include <algorithm>

#include "analysis/profile/contexts.h"
#include "base/largest_nodes.h"

namespace diogenes {
namespace {

// Inclusive time of CPU and GPU.
std::vector<double> inclusive(const std::vector<ReportContext>& nodes) {
  std::vector<double> all(nodes.size(), 0);
  for (size_t i = nodes.size(); i-- > 0;) {
    all[i] += nodes[i].cpu_s + nodes[i].driver_s + nodes[i].waited_s + nodes[i].gpu_s;
    if (i > 0) all[nodes[i].parent] += all[i];
  }
  return all;
}

void add_to_rest(ReportContext& rest, const ReportContext& node) {
  // Calls and pieces of GPU work cannot be added; what it has of the latter is asked for.
  if (node.kind == ReportContext::Kind::gpu || node.kind == ReportContext::Kind::rest)
    rest.count += node.count;
  rest.cpu_s += node.cpu_s;
  rest.driver_s += node.driver_s;
  rest.waited_s += node.waited_s;
  rest.gpu_s += node.gpu_s;
  rest.idle_s += node.idle_s;
  rest.recoverable_s += node.recoverable_s;
  rest.threads = std::max(rest.threads, node.threads);
}

}  // namespace

void keep_largest(Contexts& contexts, size_t most) {
  std::vector<ReportContext>& nodes = contexts.nodes;
  if (nodes.size() <= most) return;
  const std::vector<uint32_t> place = keep_largest_nodes(
      nodes, inclusive(nodes), most,
      [](const ReportContext& node) { return node.kind == ReportContext::Kind::rest; },
      [](ReportContext& made) {
        made.kind = ReportContext::Kind::rest;
        made.name = "smaller ones";
      },
      add_to_rest);
  for (auto& [path, node] : contexts.of_path) node = place[node];
  for (ReportIdle::Gap& gap : contexts.idle.gaps) gap.context = place[gap.context];
  std::erase_if(contexts.idle.gaps, [&](const ReportIdle::Gap& gap) {
    return nodes[gap.context].kind == ReportContext::Kind::rest;
  });
}

}  // namespace diogenes
