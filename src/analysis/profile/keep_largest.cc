#include <algorithm>
#include <map>
#include <numeric>

#include "analysis/profile/contexts.h"

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

}  // namespace

void keep_largest(Contexts& contexts, size_t most) {
  std::vector<ReportContext>& nodes = contexts.nodes;
  if (nodes.size() <= most) return;
  const std::vector<double> time = inclusive(nodes);
  std::vector<uint32_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0);
  // A parent has no less time than its children, and stands before them.
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t one, uint32_t other) { return time[one] > time[other]; });
  std::vector<bool> kept(nodes.size(), false);
  for (size_t i = 0; i < most / 2; ++i) kept[order[i]] = true;  // each may have a rest
  kept[0] = true;
  std::vector<uint32_t> place(nodes.size(), 0);
  std::vector<ReportContext> out;
  std::map<uint32_t, uint32_t> rest;  // by the new place of the parent
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    ReportContext& node = nodes[i];
    const uint32_t parent = place[node.parent];
    if (kept[i]) {
      place[i] = static_cast<uint32_t>(out.size());
      node.parent = parent;
      out.push_back(std::move(node));
      continue;
    }
    uint32_t to = parent;  // in a rest already
    if (out[parent].kind != ReportContext::Kind::rest) {
      auto [found, fresh] = rest.try_emplace(parent, static_cast<uint32_t>(out.size()));
      if (fresh) {
        ReportContext& made = out.emplace_back();
        made.parent = parent;
        made.kind = ReportContext::Kind::rest;
        made.name = "smaller ones";
      }
      to = found->second;
    }
    place[i] = to;
    ReportContext& sum = out[to];
    // Calls and pieces of GPU work cannot be added; what it has of the latter is asked for.
    if (node.kind == ReportContext::Kind::gpu || node.kind == ReportContext::Kind::rest)
      sum.count += node.count;
    sum.cpu_s += node.cpu_s;
    sum.driver_s += node.driver_s;
    sum.waited_s += node.waited_s;
    sum.gpu_s += node.gpu_s;
    sum.idle_s += node.idle_s;
    sum.recoverable_s += node.recoverable_s;
    sum.threads = std::max(sum.threads, node.threads);
  }
  nodes = std::move(out);
  for (auto& [path, node] : contexts.of_path) node = place[node];
  for (ReportIdle::Gap& gap : contexts.idle.gaps) gap.context = place[gap.context];
  std::erase_if(contexts.idle.gaps, [&](const ReportIdle::Gap& gap) {
    return nodes[gap.context].kind == ReportContext::Kind::rest;
  });
}

}  // namespace diogenes
