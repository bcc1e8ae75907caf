#include "analysis/kernel_samples/kernel_samples.h"

#include <algorithm>
#include <cmath>

#include "analysis/kernel_samples/kernel_tree.h"
#include "analysis/symbols/wording.h"
#include "base/in_background.h"

namespace diogenes {
namespace {

using NodeKind = ReportKernelNode::Kind;

constexpr size_t kMostLookedInto = 50, kMostKernelThreads = 8;
constexpr size_t kMostNodesShown = 200, kMostHottest = 8;
constexpr double kLeastHot = 0.05;     // of the kernel's samples
constexpr double kMerelyAround = 0.8;  // of a loop's samples in one inside of it: that one is told
// Of a multiprocessor, on all GPUs that can be sampled so; and the threads of a warp.
constexpr uint32_t kSchedulers = 4, kThreadsOfWarp = 32;
constexpr double kFewSamples = 100;

ReportSampleCount counted_in_report(const SampleCounts& counts) {
  ReportSampleCount out;
  out.samples = counts.all();
  out.latency = counts.latency;
  for (uint32_t i = 0; i < counts.by_reason.size(); ++i)
    if (counts.by_reason[i] > 0) out.stalls.push_back({i, counts.by_reason[i]});
  std::stable_sort(
      out.stalls.begin(), out.stalls.end(),
      [](const ReportStall& one, const ReportStall& other) { return one.samples > other.samples; });
  return out;
}

ReportKernelNode node_in_report(KernelTree::Node& from) {
  ReportKernelNode node;
  node.parent = from.parent;
  node.kind = from.kind;
  node.function = std::move(from.function);
  node.file = std::move(from.file);
  node.line = static_cast<int>(from.line);
  node.last_line = static_cast<int>(from.last_line);
  node.called_line = static_cast<int>(from.called_line);
  node.estimated = from.estimated;
  node.own = counted_in_report(from.own);
  node.all = counted_in_report(from.all);
  return node;
}

// Loops, but those that merely lie around another; and lines that no loop holds.
std::vector<uint32_t> hottest_of(const ReportKernelSamples& kernel) {
  const auto& nodes = kernel.nodes;
  std::vector<bool> merely_around(nodes.size(), false), in_loop(nodes.size(), false);
  for (uint32_t i = 1; i < nodes.size(); ++i) {
    in_loop[i] = in_loop[nodes[i].parent] || nodes[nodes[i].parent].kind == NodeKind::loop;
    if (nodes[i].kind != NodeKind::loop) continue;
    for (uint32_t at = nodes[i].parent; at != 0; at = nodes[at].parent)
      if (nodes[at].kind == NodeKind::loop && nodes[i].all.samples >= kMerelyAround * nodes[at].all.samples)
        merely_around[at] = true;
  }
  std::vector<uint32_t> hottest;
  for (uint32_t i = 1; i < nodes.size(); ++i) {
    const bool place =
        nodes[i].kind == NodeKind::loop ? !merely_around[i] : nodes[i].kind == NodeKind::line && !in_loop[i];
    if (place && kernel.share(nodes[i].all.samples) >= kLeastHot) hottest.push_back(i);
  }
  std::stable_sort(hottest.begin(), hottest.end(), [&](uint32_t one, uint32_t other) {
    return nodes[one].all.samples > nodes[other].all.samples;
  });
  if (hottest.size() > kMostHottest) hottest.resize(kMostHottest);
  return hottest;
}

// Formulas 4 to 10. Those that need the number of schedulers in use are left out where that is not known.
void set_metrics(ReportKernelSamples& out, const SampleCounts& all, const SampledCode& code,
                 const KernelAsked& asked) {
  const double samples = all.all();
  if (samples <= 0) return;
  out.issue_rate = (samples - std::min(all.latency, samples)) / samples;
  out.eligible_rate = (all.of(code.issued) + all.of(code.not_selected)) / samples;
  const double cycles = samples * asked.sampled.cycles_a_sample;
  if (cycles > 0 && asked.sampled.cycles > 0) out.active_rate = std::min(cycles / asked.sampled.cycles, 1.0);
  if (asked.threads_a_block < kSchedulers * kThreadsOfWarp) return;
  out.instructions_a_cycle = out.issue_rate * kSchedulers;
  out.busy_rate = 1 - std::pow(1 - out.eligible_rate, kSchedulers);
  if (cycles > 0 && asked.sampled.launches > 0)
    out.instructions_a_launch =
        cycles * *out.instructions_a_cycle / static_cast<double>(asked.sampled.launches);
}

ReportKernelSamples look_into(const KernelAsked& asked, const SampledKernel& sampled,
                              const SampledCode& code) {
  ReportKernelSamples out;
  out.reasons = code.reasons;
  KernelTree tree = make_kernel_tree(asked.name, sampled, code.issued);
  set_metrics(out, tree.nodes[0].all, code, asked);
  const size_t nodes = tree.nodes.size();
  keep_largest(tree, kMostNodesShown);
  for (std::string& note : tree.notes) out.notes.push_back(std::move(note));
  if (nodes > tree.nodes.size())
    out.notes.push_back("of its " + std::to_string(nodes) +
                        " functions, loops and lines the largest are shown");
  for (KernelTree::Node& node : tree.nodes) out.nodes.push_back(node_in_report(node));
  out.hottest = hottest_of(out);
  if (out.samples() < kFewSamples)
    out.notes.push_back("it has few samples, so that shares are not exact; let the program run longer");
  if (out.nodes.size() == 1)
    out.why_no_lines = sampled.why_none;
  else if (sampled.without_code.all() > 0)
    out.notes.push_back(std::to_string(std::llround(100 * out.share(sampled.without_code.all()))) +
                        "% of its samples have no line: " + sampled.why_none);
  return out;
}

// Samples were taken, but some were lost, or tell less than they could.
std::vector<std::string> notes_of(std::span<const ProcessGpuSamples> processes, const SampledCode& code) {
  std::vector<std::string> notes;
  uint64_t dropped = 0, foreign = 0, full = 0;
  bool ended = false;
  for (const ProcessGpuSamples& process : processes) {
    dropped += process.samples.dropped + process.samples.left_out;
    foreign += process.samples.foreign;
    full += process.samples.full_buffers;
    ended |= process.samples.ended_ns > 0;
  }
  if (ended)
    notes.push_back(
        "the GPU was sampled in the run's first part only: the program makes so many calls that sampling slows it down; "
        "`diogenes profile --all-gpu-times` samples all of the run");
  if (dropped > 0 || full > 0)
    notes.push_back("some samples of the GPU were lost (" +
                    counted(dropped, "sample was dropped", "samples were dropped") +
                    "; the hardware's buffer was full " + counted(full, "time", "times") +
                    "); shares inside kernels may be off by as much");
  if (foreign > 0)
    notes.push_back(
        counted(foreign, "sample", "samples") +
        " of the GPU lie in code that is not known, and are in no kernel; many of them are of warps that have "
        "not begun yet");
  if (const double apart = code.of_no_kernel.all(); apart > 0)
    notes.push_back(
        counted(static_cast<uint64_t>(std::llround(apart)), "sample", "samples") +
        " of the GPU lie in functions that are linked apart (-rdc=true): it is not known which kernel called them");
  return notes;
}

}  // namespace

KernelSamplesFound find_kernel_samples(std::span<const ProcessGpuSamples> processes,
                                       std::span<const KernelAsked> kernels) {
  KernelSamplesFound found;
  bool any = false;
  for (const ProcessGpuSamples& process : processes) {
    any |= !process.samples.instructions.empty();
    if (found.no_samples.empty()) found.no_samples = process.samples.why_none;
  }
  if (!any) return found;
  if (!found.no_samples.empty()) {
    found.notes.push_back("of some processes the GPU was not sampled: " + found.no_samples);
    found.no_samples.clear();
  }
  const SampledCode code = sort_samples(processes);
  for (std::string& note : notes_of(processes, code)) found.notes.push_back(std::move(note));
  std::vector<std::pair<const KernelAsked*, const SampledKernel*>> wanted;
  for (const KernelAsked& asked : kernels)
    if (const auto sampled = code.kernels.find(asked.name);
        sampled != code.kernels.end() && wanted.size() < kMostLookedInto)
      wanted.emplace_back(&asked, &sampled->second);
  std::vector<ReportKernelSamples> looked_into(wanted.size());
  each_on_threads(kMostKernelThreads, wanted.size(),
                  [&](size_t i) { looked_into[i] = look_into(*wanted[i].first, *wanted[i].second, code); });
  for (size_t i = 0; i < wanted.size(); ++i)
    if (looked_into[i].samples() > 0) found.kernels[wanted[i].first->name] = std::move(looked_into[i]);
  return found;
}

ReportSampledSource with_samples(const ReportKernelSamples& kernel, const std::string& file, int first,
                                 const std::vector<std::string>& lines) {
  ReportSampledSource source{file, first, {}};
  std::vector<std::vector<double>> by_reason(lines.size());
  for (const std::string& text : lines) source.lines.push_back({text, 0, -1});
  for (const ReportKernelNode& node : kernel.nodes) {
    const int64_t at = int64_t{node.line} - first;
    if (node.kind != NodeKind::line || node.file != file || at < 0 ||
        at >= static_cast<int64_t>(lines.size()))
      continue;
    const auto line = static_cast<size_t>(at);
    source.lines[line].samples += node.all.samples;
    by_reason[line].resize(kernel.reasons.size(), 0);
    for (const ReportStall& stall : node.all.stalls) by_reason[line][stall.reason] += stall.samples;
  }
  for (size_t i = 0; i < lines.size(); ++i)
    if (source.lines[i].samples > 0)
      source.lines[i].reason = static_cast<int32_t>(
          std::max_element(by_reason[i].begin(), by_reason[i].end()) - by_reason[i].begin());
  return source;
}

}  // namespace diogenes
