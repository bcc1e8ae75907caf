#include "views/text/gpu_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "views/shared/figures.h"
#include "views/shared/kernel_words.h"
#include "views/shared/phrases.h"
#include "views/shared/places.h"
#include "views/shared/shortened_name.h"

namespace diogenes {
namespace {

constexpr size_t kWorkIndent = 4;
constexpr size_t kBriefPaths = 3, kBriefShapes = 3, kBriefFrames = 3;
constexpr size_t kTableInside = 2, kBriefInside = 5;  // places inside of a kernel
constexpr size_t kWorksWithInside = 5;                // in the table
constexpr double kLeastWithInside = 5;                // percent of the GPU's time
constexpr size_t kMostReasons = 6;
constexpr double kLeastReason = 0.05;  // of a kernel's samples
constexpr double kHidden = 0.01;       // of what half of its time would gain if nothing ran beside it

std::string shape_text(const ReportLaunchShape& shape) {
  std::string text = fmt::format("{}, {}: grid {}, block {}; {} a thread", counted(shape.count, "time"),
                                 seconds_text(shape.gpu_s), extent_text(shape.grid), extent_text(shape.block),
                                 counted(shape.registers, "register"));
  const uint64_t shared = uint64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes;
  text += shared == 0 ? ", no shared memory" : ", " + bytes_text(shared) + " shared memory a block";
  if (shape.static_shared_bytes > 0 && shape.dynamic_shared_bytes > 0)
    text += fmt::format(" ({} of it dynamic)", bytes_text(shape.dynamic_shared_bytes));
  if (!shape.occupancy) return text;
  text += fmt::format("; theoretical occupancy {}", percent_text(shape.occupancy->percent));
  return shape.occupancy->limiter.empty() ? text : text + ", limited by " + shape.occupancy->limiter;
}

class WorkDetails {
 public:
  WorkDetails(Page& page, const ReportGpuWork& work, const ProblemTextOptions& options)
      : page_(page), work_(work), options_(options) {}

  void title(size_t rank) {
    const std::string lead = rank > 0 ? fmt::format("{:>2}. ", rank) : "";
    const std::string figures =
        fmt::format(", {} ({} of the GPU's time)", seconds_text(work_.gpu_s), percent_text(work_.percent));
    const size_t used = lead.size() + figures.size() + work_.id.size() + 2;
    const size_t room = page_.width() > used + 20 ? page_.width() - used : 20;
    page_.line();
    page_.line(lead + page_.bold(shortened_name(work_.name, room)) + figures + page_.faint("  " + work_.id));
  }

  void gains() {
    if (!work_.what_if) return labelled("gains", "not estimated: it takes too little time");
    const ReportWhatIf& what_if = *work_.what_if;
    labelled("gains", is_hidden(work_) ? "nothing if it is faster: other GPU work or the CPU takes as long"
                                       : "the run gains " + what_if_text(what_if.half, what_if.none));
    if (what_if.half_fixed && what_if.none_fixed)
      labelled("fixed",
               "once the findings are fixed: " + what_if_text(*what_if.half_fixed, *what_if.none_fixed));
    if (!what_if.reason.empty()) labelled("range", what_if.reason);
  }

  void times() {
    std::string text = counted(work_.count, "time");
    if (work_.count > 1)
      text += fmt::format("; shortest {}, median {}, longest {}", seconds_text(work_.shortest_s),
                          seconds_text(work_.median_s), seconds_text(work_.longest_s));
    if (work_.bytes > 0) {
      text += "; " + bytes_text(work_.bytes);
      if (work_.gpu_s > 0)
        text +=
            fmt::format(", {} a second",
                        bytes_text(static_cast<uint64_t>(static_cast<double>(work_.bytes) / work_.gpu_s)));
    }
    if (work_.in_graphs) text += "; some of it in CUDA graphs";
    labelled("runs", text);
    if (seconds_text(work_.least_s) != seconds_text(work_.most_s))
      labelled("ranks", fmt::format("from {} to {} in a process", seconds_text(work_.least_s),
                                    seconds_text(work_.most_s)));
  }

  void shapes() {
    const size_t shown = std::min(options_.whole ? SIZE_MAX : kBriefShapes, work_.shapes.size());
    for (size_t i = 0; i < shown; ++i) labelled(i == 0 ? "shape" : "", shape_text(work_.shapes[i]));
    more(shown, work_.shape_count, "more shape");
  }

  void paths() {
    const size_t shown = std::min(options_.whole ? SIZE_MAX : kBriefPaths, work_.paths.size());
    for (size_t i = 0; i < shown; ++i) {
      const ReportGpuPath& path = work_.paths[i];
      std::string text = fmt::format("{}, {}", counted(path.count, "time"), seconds_text(path.gpu_s));
      if (!path.via.empty()) text += ", by " + path.via;
      if (path.what_if) text += "; gains " + what_if_text(path.what_if->half, path.what_if->none);
      labelled("from", text);
      for (const ReportFrame* frame : telling_frames(path.stack, options_.whole ? SIZE_MAX : kBriefFrames))
        page_.line(std::string(kWorkIndent + Page::kLabel, ' ') +
                   place_text(*frame, options_.folder, room()));
    }
    more(shown, work_.path_count, "more place");
  }

  // What samples say.
  void inside() {
    if (!work_.inside) return;
    const ReportKernelSamples& kernel = *work_.inside;
    const size_t shown = std::min(options_.whole ? SIZE_MAX : kBriefInside, kernel.hottest.size());
    std::string label = "inside";
    const auto said = [&](const std::string& text) {
      if (text.empty()) return;
      labelled(label, text);
      label.clear();
    };
    if (!kernel.why_no_lines.empty()) said(kernel.why_no_lines);
    for (size_t i = 0; i < shown; ++i) {
      const ReportKernelNode* node = node_at(kernel, kernel.hottest[i]);
      if (node) said(hottest_phrase(kernel, *node)), said(place_gain(*node, work_.gpu_s));
    }
    if (shown < kernel.hottest.size()) said("and " + counted(kernel.hottest.size() - shown, "more place"));
    if (shown == 0 && !kernel.nodes.empty())
      said("it mostly " + main_reason(kernel, kernel.nodes.front().all));
    if (!options_.whole) return;
    said(issue_phrase(kernel));
    reasons(kernel);
    source(kernel);
    for (const std::string& note : kernel.notes) labelled("note", note);
  }

  void full_name() {
    if (!options_.whole || work_.full_name.empty() || work_.full_name == work_.name) return;
    std::string label = "name";
    for (size_t at = 0; at < work_.full_name.size(); at += room()) {
      page_.line(std::string(kWorkIndent, ' ') + page_.faint(fmt::format("{:<{}}", label, Page::kLabel)) +
                 work_.full_name.substr(at, room()));
      label.clear();
    }
  }

 private:
  void labelled(const std::string& label, const std::string& text) {
    page_.labelled(kWorkIndent, label, text);
  }
  void more(size_t shown, uint64_t all, const char* noun) {
    if (shown < all) labelled("", "and " + counted(all - shown, noun));
  }
  static const ReportKernelNode* node_at(const ReportKernelSamples& kernel, uint32_t at) {
    return at < kernel.nodes.size() ? &kernel.nodes[at] : nullptr;
  }

  void reasons(const ReportKernelSamples& kernel) {
    std::string label = "why";
    size_t shown = 0;
    for (const StallWords& one : stall_words(kernel)) {
      if (one.share < kLeastReason || ++shown > kMostReasons) break;
      std::string text = fmt::format("{} {} ({})", percent_text(100 * one.share), one.phrase, one.name);
      if (shown == 1 && !one.advice.empty()) text += ". " + one.advice;
      labelled(label, text);
      label.clear();
    }
  }

  void source(const ReportKernelSamples& kernel) {
    for (const ReportSampledSource& source : kernel.source) {
      labelled("source", short_path(source.file, options_.folder));
      for (size_t i = 0; i < source.lines.size(); ++i) {
        const ReportSampledSource::Line& line = source.lines[i];
        const double share = kernel.share(line.samples);
        const std::string margin = share > 0 ? percent_text(100 * share) : "";
        std::string text =
            fmt::format("{:>12} {:>5} | {}", margin, source.first + static_cast<int>(i), line.text);
        page_.line(share >= kLeastReason ? text : page_.faint(text));
      }
    }
  }

  size_t room() const {
    return page_.width() - std::min<size_t>(page_.width() - 20, kWorkIndent + Page::kLabel);
  }

  Page& page_;
  const ReportGpuWork& work_;
  const ProblemTextOptions& options_;
};

// Of a table's row: how wide each column is.
struct WorkColumns {
  bool at_most;
  size_t what, where;
  explicit WorkColumns(size_t width) : at_most(width >= 90) {
    const size_t used = 4 + 15 + 10 + (at_most ? 10 : 0) + 4;
    const size_t room = width > used + 30 ? width - used : 30;
    where = std::max<size_t>(room * 45 / 100, 14);
    what = room - where;
  }
};

}  // namespace

const char* const kNoProfile =
    "When each kernel ran was not measured: CUPTI was not found, another profiler used it, or GPU times were turned "
    "off. Look with `diogenes doctor` whether libcupti is found, and measure again with `diogenes run --gpu-times "
    "auto`. The notices of "
    "the report say more.";

bool is_hidden(double half_gain_s, double gpu_s) { return half_gain_s < kHidden * gpu_s / 2; }
std::string place_gain(const ReportKernelNode& node, double gpu_s) {
  if (!node.what_if || is_hidden(node.what_if->half.seconds, gpu_s)) return "";
  return fmt::format("the run gains {} if that place takes half as long", gain_phrase(node.what_if->half));
}

bool is_hidden(const ReportGpuWork& work) {
  return work.what_if && is_hidden(work.what_if->half.seconds, work.gpu_s);
}

std::string gain_phrase(const ReportGain& gain) {
  const std::string low = seconds_text(gain.low_s), high = seconds_text(gain.high_s);
  return seconds_text(gain.seconds) + (low == high ? "" : fmt::format(" [{} to {}]", low, high));
}

std::string extent_text(const uint32_t (&extent)[3]) {
  std::string text = std::to_string(extent[0]);
  if (extent[1] > 1 || extent[2] > 1) text += fmt::format(" x {}", extent[1]);
  return extent[2] > 1 ? text + fmt::format(" x {}", extent[2]) : text;
}

std::string what_if_text(const ReportGain& half, const ReportGain& none) {
  return fmt::format("{} if it takes half as long, {} at most", gain_phrase(half), gain_phrase(none));
}

std::string launch_place(const ReportGpuWork& work, const std::string& folder, size_t room) {
  if (work.paths.empty()) return "";
  std::string others =
      work.path_count > 1 ? fmt::format(" and {} more", count_text(work.path_count - 1)) : "";
  if (room < 30 + others.size() && !others.empty()) others = ", +" + count_text(work.path_count - 1);
  const size_t left = room > others.size() + 8 ? room - others.size() : 8;
  const ReportGpuPath& first = work.paths.front();
  std::string place = where_text(first.where, folder, left);
  if (place.empty()) place = shortened_name(first.via, left);
  return place.empty() ? "" : place + others;
}

std::string gpu_work_title(const ReportProfile& profile) {
  const bool kernels = std::all_of(profile.work.begin(), profile.work.end(), [](const ReportGpuWork& work) {
    return work.kind == ReportGpuWork::Kind::kernel;
  });
  return kernels ? "Kernels" : "Kernels and other GPU work";
}

// Below a kernel's row: where in it the time goes. True: only why its warps wait is known, not where.
static bool inside_lines(Page& page, const ReportGpuWork& work) {
  if (!work.inside) return false;
  constexpr size_t kIndentInside = 8;
  const std::string lead(kIndentInside, ' ');
  const ReportKernelSamples& kernel = *work.inside;
  for (size_t i = 0; i < kTableInside && i < kernel.hottest.size(); ++i)
    if (kernel.hottest[i] < kernel.nodes.size())
      page.wrapped(lead, kIndentInside, hottest_phrase(kernel, kernel.nodes[kernel.hottest[i]]));
  if (!kernel.hottest.empty() || kernel.nodes.empty()) return false;
  const std::string reason = main_reason(kernel, kernel.nodes.front().all);
  if (!reason.empty()) page.wrapped(lead, kIndentInside, "it mostly " + reason);
  return !reason.empty() && !kernel.why_no_lines.empty();
}

void gpu_work_table(Page& page, const ReportProfile& profile, const Reader& reader, size_t most) {
  if (profile.work.empty()) return;
  const WorkColumns columns(page.width());
  const size_t shown = std::min(most, profile.work.size());
  bool hidden = false, without_lines = false;
  page.line();
  const std::string title = gpu_work_title(profile),
                    subtitle = "  gains: what the run gains if it takes half as long";
  page.line(page.bold(title) + (title.size() + subtitle.size() <= page.width() ? page.faint(subtitle) : ""));
  page.line(page.faint(fmt::format("{:>12} {:>6} {:>9}{}  {:<{}}  {}", "GPU time", "", "gains",
                                   columns.at_most ? fmt::format(" {:>9}", "at most") : "", "what",
                                   columns.what, "where")));
  for (size_t i = 0; i < shown; ++i) {
    const ReportGpuWork& work = profile.work[i];
    const bool gains = work.what_if && !is_hidden(work);
    hidden |= is_hidden(work);
    const std::string half = gains ? seconds_text(work.what_if->half.seconds) : work.what_if ? "hidden" : "-";
    const std::string none = gains ? seconds_text(work.what_if->none.seconds) : "-";
    page.line(
        fmt::format("{:>2}. {:>8} {:>6} ", i + 1, seconds_text(work.gpu_s), percent_text(work.percent)) +
        page.gain(fmt::format("{:>9}", half)) + (columns.at_most ? fmt::format(" {:>9}", none) : "") + "  " +
        page.bold(fmt::format("{:<{}}", shortened_name(work.name, columns.what), columns.what)) + "  " +
        launch_place(work, reader.folder, columns.where));
    if (gains && !work.what_if->reason.empty())
      page.line(fmt::format("{:>20}range {} to {}", "", seconds_text(work.what_if->half.low_s),
                            seconds_text(work.what_if->half.high_s)));
    if (i < kWorksWithInside && work.percent >= kLeastWithInside) without_lines |= inside_lines(page, work);
  }
  if (hidden)
    page.wrapped("    ", 4,
                 "hidden: the run gains nothing if it is faster; other GPU work or the CPU takes as long.");
  if (without_lines)
    page.wrapped(
        "    ", 4,
        "Where in a kernel its warps wait is known if its code has lines: compile yours with -lineinfo.");
  if (!profile.no_samples.empty())
    page.wrapped("    ", 4, "Inside kernels nothing was measured: " + profile.no_samples);
  page.line(fmt::format("    More of each: diogenes report{} --kernels",
                        reader.session.empty() ? "" : " " + quoted(reader.session)));
}

void gpu_work_details(Page& page, size_t rank, const ReportGpuWork& work, const ProblemTextOptions& options) {
  WorkDetails details(page, work, options);
  details.title(rank);
  details.gains();
  details.times();
  details.shapes();
  details.inside();
  details.paths();
  details.full_name();
}

void gpu_work_in_full(Page& page, const ReportProfile& profile, const ProblemTextOptions& options,
                      size_t most) {
  const size_t shown = std::min(most, profile.work.size());
  page.line();
  page.line(page.bold(gpu_work_title(profile)));
  page.wrapped(
      "", 0,
      fmt::format("{} of GPU work took {}; the GPU was in use for {}", counted(profile.pieces, "piece"),
                  seconds_text(profile.gpu_s), seconds_text(profile.gpu_busy_s)));
  for (size_t i = 0; i < shown; ++i) gpu_work_details(page, i + 1, profile.work[i], options);
  const uint64_t all = std::max<uint64_t>(profile.work_count, profile.work.size());
  if (shown < all) {
    double left_s = profile.left_out_s;
    for (size_t i = shown; i < profile.work.size(); ++i) left_s += profile.work[i].gpu_s;
    page.line();
    page.line(fmt::format("    {} more, {} together{}", count_text(all - shown), seconds_text(left_s),
                          shown < profile.work.size() ? fmt::format(": --top {}", profile.work.size()) : ""));
  }
  profile_notes(page, profile);
}

void profile_notes(Page& page, const ReportProfile& profile) {
  if (profile.notes.empty()) return;
  page.line();
  for (const std::string& note : profile.notes) page.wrapped("  - ", 4, note);
}

}  // namespace diogenes
