#include "views/shared/kernel_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "views/shared/figures.h"
#include "views/shared/shortened_name.h"
#include "views/shared/stall_reasons.h"

namespace diogenes {
namespace {

using Kind = ReportKernelNode::Kind;

constexpr size_t kLongestFunction = 48;

std::string whole_percent(double share) {
  if (!std::isfinite(share)) return "-";
  return share > 0 && share < 0.005 ? "<1%" : fmt::format("{:.0f}%", 100 * share);
}

std::string reason_name(const ReportKernelSamples& kernel, uint32_t reason) {
  return reason < kernel.reasons.size() ? kernel.reasons[reason] : "";
}

// The innermost function around a node that is not the kernel itself; null: none.
const ReportKernelNode* function_around(const ReportKernelSamples& kernel, const ReportKernelNode& node) {
  uint32_t at = node.parent;
  while (at < kernel.nodes.size() && at != 0) {
    const ReportKernelNode& one = kernel.nodes[at];
    if (one.kind == Kind::inlined || one.kind == Kind::function) return &one;
    if (one.parent >= at) break;
    at = one.parent;
  }
  return nullptr;
}

}  // namespace

std::string lines_text(const ReportKernelNode& node) {
  const std::string file = node.file.substr(node.file.rfind('/') + 1);
  if (node.line <= 0) return file;
  std::string text = (file.empty() ? "line " : file + ":") + std::to_string(node.line);
  return node.last_line > node.line ? text + " to " + std::to_string(node.last_line) : text;
}

std::string kernel_place(const ReportKernelSamples& kernel, const ReportKernelNode& node) {
  std::string text = (node.kind == Kind::loop ? "the loop at " : "") + lines_text(node);
  const ReportKernelNode* function = function_around(kernel, node);
  if (!function || function->function.empty()) return text;
  text += " in " + shortened_name(function->function, kLongestFunction);
  if (function->called_line > 0) text += fmt::format(" (called in line {})", function->called_line);
  return text;
}

std::string main_reason(const ReportKernelSamples& kernel, const ReportSampleCount& count) {
  if (count.stalls.empty() || count.samples <= 0) return "";
  const ReportStall& most = count.stalls.front();
  return fmt::format("{} ({})", stall_phrase(reason_name(kernel, most.reason)),
                     whole_percent(most.samples / count.samples));
}

std::string main_reason(const ReportProfile& profile, const ReportContext& context) {
  const auto work = static_cast<size_t>(context.work), place = static_cast<size_t>(context.place);
  if (context.work < 0 || context.place < 0 || work >= profile.work.size()) return "";
  const auto& inside = profile.work[work].inside;
  return inside && place < inside->nodes.size() ? main_reason(*inside, inside->nodes[place].all) : "";
}

std::string hottest_phrase(const ReportKernelSamples& kernel, const ReportKernelNode& node) {
  std::string text = fmt::format("{} of its samples in {}", whole_percent(kernel.share(node.all.samples)),
                                 kernel_place(kernel, node));
  if (node.kind == Kind::line)
    text = fmt::format("{} of its samples at {}", whole_percent(kernel.share(node.all.samples)),
                       kernel_place(kernel, node));
  if (node.estimated) text += " (estimated)";
  const std::string reason = main_reason(kernel, node.all);
  return reason.empty() ? text : text + "; there it mostly " + reason;
}

// Three digits of it.
std::string large_number(double number) {
  number = std::clamp(number, 0.0, 1e18);
  if (number >= 1e9) return fmt::format("{:.3g} billion", number / 1e9);
  if (number >= 1e6) return fmt::format("{:.3g} million", number / 1e6);
  return count_text(static_cast<uint64_t>(number));
}

std::string issue_phrase(const ReportKernelSamples& kernel) {
  std::string text = fmt::format(
      "its schedulers issue an instruction in {} of the cycles; a warp that is looked at could go on in {}",
      whole_percent(kernel.issue_rate), whole_percent(kernel.eligible_rate));
  if (kernel.instructions_a_cycle)
    text += fmt::format("; {:.2f} instructions of warps a cycle and multiprocessor",
                        *kernel.instructions_a_cycle);
  if (kernel.busy_rate) text += fmt::format(", which is busy in {}", whole_percent(*kernel.busy_rate));
  if (kernel.active_rate)
    text += fmt::format("; in {} of all multiprocessors' cycles while it runs, one has a warp of it",
                        whole_percent(*kernel.active_rate));
  if (kernel.instructions_a_launch)
    text += fmt::format("; {} instructions of warps a launch", large_number(*kernel.instructions_a_launch));
  return text;
}

std::vector<StallWords> stall_words(const ReportKernelSamples& kernel) {
  std::vector<StallWords> words;
  if (kernel.nodes.empty()) return words;
  for (const ReportStall& stall : kernel.nodes.front().all.stalls) {
    StallWords& one = words.emplace_back();
    one.share = kernel.share(stall.samples);
    one.name = reason_name(kernel, stall.reason);
    one.phrase = stall_phrase(one.name);
    if (const StallReason* known = stall_reason_named(one.name)) {
      one.meaning = known->meaning;
      one.advice = known->advice;
    }
  }
  return words;
}

}  // namespace diogenes
