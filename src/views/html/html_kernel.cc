// What lies inside a kernel, as part of its entry in the page: its hottest places, why its warps did not go on, and the source
// with samples at the margin.
#include <fmt/format.h>

#include "views/exports/exports.h"
#include "views/html/html_parts.h"
#include "views/shared/figures.h"
#include "views/shared/kernel_words.h"
#include "views/text/gpu_work.h"

namespace diogenes {
namespace {

constexpr double kLeastReason = 0.01, kLeastMarked = 0.05;  // of a kernel's samples
constexpr size_t kMostReasons = 12;

std::string places_html(const ReportKernelSamples& kernel, double gpu_s) {
  std::string text;
  for (const uint32_t at : kernel.hottest) {
    if (at >= kernel.nodes.size()) continue;
    const std::string gain = place_gain(kernel.nodes[at], gpu_s);
    text += html_item(text.empty() ? "inside" : "",
                      html(hottest_phrase(kernel, kernel.nodes[at]) + (gain.empty() ? "" : "; " + gain)));
  }
  return text;
}

std::string reasons_html(const ReportKernelSamples& kernel) {
  std::string rows;
  size_t shown = 0;
  for (const StallWords& one : stall_words(kernel)) {
    if (one.share < kLeastReason || ++shown > kMostReasons) break;
    rows +=
        fmt::format("<tr><td class=\"number\">{}</td><td title=\"{}\">{}</td><td>{}</td><td>{}</td></tr>\n",
                    html(percent_text(100 * finite(one.share))), html(one.name), html(one.phrase),
                    html(one.meaning), html(one.advice));
  }
  if (rows.empty()) return "";
  return "<div class=\"scroll\"><table><thead><tr><th class=\"number\">samples</th><th>a warp</th><th>meaning</th>"
         "<th>what to do</th></tr></thead><tbody>\n" +
         rows + "</tbody></table></div>\n";
}

std::string source_html(const ReportKernelSamples& kernel, const Reader& reader) {
  std::string text;
  for (const ReportSampledSource& source : kernel.source) {
    text += "<p class=\"where\">" + html(short_path(source.file, reader.folder)) +
            "</p>\n<pre class=\"samples\">";
    for (size_t i = 0; i < source.lines.size(); ++i) {
      const ReportSampledSource::Line& line = source.lines[i];
      const double share = finite(kernel.share(line.samples));
      const auto reason = static_cast<size_t>(line.reason);
      const std::string name =
          line.reason >= 0 && reason < kernel.reasons.size() ? kernel.reasons[reason] : "";
      text += fmt::format("<{0} title=\"{1}\"><b>{2}</b><b>{3}</b>{4}</{0}>",
                          share >= kLeastMarked ? "mark" : "span", html(name),
                          share > 0 ? html(percent_text(100 * share)) : "",
                          source.first + static_cast<int>(i), html(line.text));
    }
    text += "</pre>\n";
  }
  return text;
}

}  // namespace

std::string kernel_html(const ReportGpuWork& work, const Reader& reader) {
  if (!work.inside) return "";
  const ReportKernelSamples& kernel = *work.inside;
  std::string text =
      "<dl>" + html_item("inside", html(kernel.why_no_lines)) + places_html(kernel, work.gpu_s);
  if (kernel.hottest.empty() && !kernel.nodes.empty())
    if (const std::string reason = main_reason(kernel, kernel.nodes.front().all); !reason.empty())
      text += html_item("mostly", "it " + html(reason));
  text += html_item("issues", html(issue_phrase(kernel)));
  for (const std::string& note : kernel.notes) text += html_item("note", html(note));
  return text + "</dl>\n" + reasons_html(kernel) + source_html(kernel, reader);
}

}  // namespace diogenes
