#include "analysis/profile/inside_kernels.h"

#include <algorithm>
#include <numeric>

namespace diogenes {
namespace {

using Kind = ReportContext::Kind;

constexpr size_t kMostNodesBelowCalls = 300'000;  // nodes below all calls

Kind kind_of(ReportKernelNode::Kind kind) {
  switch (kind) {
    case ReportKernelNode::Kind::loop:
      return Kind::gpu_loop;
    case ReportKernelNode::Kind::line:
      return Kind::gpu_line;
    default:
      return Kind::gpu_function;
  }
}

std::string place_of(const ReportKernelNode& node) {
  const std::string file = node.file.substr(node.file.rfind('/') + 1);
  std::string place = file.empty() ? "line " : file + ":";
  place += std::to_string(node.line);
  return node.last_line > node.line ? place + " to " + std::to_string(node.last_line) : place;
}

std::string name_of(const ReportKernelNode& node) {
  switch (node.kind) {
    case ReportKernelNode::Kind::loop:
      return "loop at " + place_of(node);
    case ReportKernelNode::Kind::line:
      return place_of(node);
    default:
      return node.function.empty() ? "function without a name" : node.function;
  }
}

struct InsidePlace {
  double seconds = 0;
  uint32_t context = 0, node = 0;
};

const ReportKernelSamples* samples_inside(const ReportContext& context,
                                          const std::vector<ReportGpuWork>& work) {
  if (context.kind != Kind::gpu || context.work < 0 || static_cast<size_t>(context.work) >= work.size())
    return nullptr;
  const auto& found = work[static_cast<size_t>(context.work)].inside;
  return found && found->nodes.size() > 1 && found->samples() > 0 ? &*found : nullptr;
}

// By context, then node: parents first.
std::vector<InsidePlace> largest_places(const std::vector<ReportContext>& contexts,
                                        const std::vector<ReportGpuWork>& work, size_t most) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < contexts.size(); ++i)
    if (samples_inside(contexts[i], work)) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t one, uint32_t other) { return contexts[one].gpu_s > contexts[other].gpu_s; });
  std::vector<InsidePlace> places;
  for (const uint32_t at : order) {
    const ReportKernelSamples& kernel = *samples_inside(contexts[at], work);
    if (places.size() + kernel.nodes.size() > kMostNodesBelowCalls) break;
    for (uint32_t i = 1; i < kernel.nodes.size(); ++i)
      if (kernel.nodes[i].kind != ReportKernelNode::Kind::rest)
        places.push_back({contexts[at].gpu_s * kernel.share(kernel.nodes[i].all.samples), at, i});
  }
  // Of equal time, those that come first: a parent comes before its children.
  std::stable_sort(places.begin(), places.end(), [](const InsidePlace& one, const InsidePlace& other) {
    return one.seconds > other.seconds;
  });
  if (places.size() > most) places.resize(most);
  std::sort(places.begin(), places.end(), [](const InsidePlace& one, const InsidePlace& other) {
    return one.context != other.context ? one.context < other.context : one.node < other.node;
  });
  return places;
}

}  // namespace

void add_inside_kernels(std::vector<ReportContext>& contexts, const std::vector<ReportGpuWork>& work,
                        size_t most) {
  const std::vector<InsidePlace> places = largest_places(contexts, work, most);
  for (size_t begin = 0; begin < places.size();) {
    const uint32_t launched = places[begin].context;
    const ReportKernelSamples& kernel = *samples_inside(contexts[launched], work);
    const double whole_s = contexts[launched].gpu_s;
    std::vector<bool> shown(kernel.nodes.size(), false);
    for (; begin < places.size() && places[begin].context == launched; ++begin)
      shown[places[begin].node] = true;
    std::vector<uint32_t> context_of(kernel.nodes.size(), launched);
    contexts[launched].gpu_s = whole_s * kernel.share(kernel.nodes[0].own.samples);
    for (uint32_t i = 1; i < kernel.nodes.size(); ++i) {
      const ReportKernelNode& node = kernel.nodes[i];
      context_of[i] = context_of[node.parent];
      const double own_s = whole_s * kernel.share(node.own.samples);
      if (!shown[i]) {
        contexts[context_of[i]].gpu_s += own_s;
        continue;
      }
      ReportContext made;
      made.parent = context_of[i];
      made.kind = kind_of(node.kind);
      made.name = name_of(node);
      made.file = node.file;
      made.line = node.line;
      made.called_line = node.called_line;
      made.estimated = node.estimated;
      made.gpu_s = own_s;
      made.place = static_cast<int32_t>(i);
      made.work = contexts[launched].work;
      context_of[i] = static_cast<uint32_t>(contexts.size());
      contexts.push_back(std::move(made));
    }
  }
}

}  // namespace diogenes
