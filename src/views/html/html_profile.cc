// Where time goes, on the page: GPU work as plain HTML that folds without a script, with the ids k1, k2, ...; and the
// place of the tree of calling contexts, which web/context_tree.ts fills. In: a report with a profile.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "views/exports/exports.h"
#include "views/html/html_parts.h"
#include "views/shared/figures.h"
#include "views/shared/idle.h"
#include "views/shared/shortened_name.h"
#include "views/text/gpu_work.h"

namespace diogenes {
namespace {

constexpr size_t kMostIdlePlaces = 20, kLongestIdleName = 100;

std::string range_text(const ReportGain& gain) {
  const std::string low = seconds_text(gain.low_s), high = seconds_text(gain.high_s);
  return low == high ? "" : low + " to " + high;
}

std::string occupancy_text(const ReportOccupancy& occupancy) {
  const std::string percent = percent_text(occupancy.percent);
  return occupancy.limiter.empty() ? percent : percent + ", " + occupancy.limiter;
}

// "12,000 launches", "1 piece"
std::string pieces_text(const ReportGpuWork& work, uint64_t count) {
  if (work.kind != ReportGpuWork::Kind::kernel) return counted(count, "piece");
  return count == 1 ? "1 launch" : count_text(count) + " launches";
}

class WorkRows {
 public:
  explicit WorkRows(const Reader& reader) : reader_(reader) {}

  std::string row(size_t number, const ReportGpuWork& work, double most_s) const {
    const std::string where = launch_place(work, reader_.folder, kWholePlace);
    const double half_s = work.what_if ? finite(work.what_if->half.seconds) : 0,
                 none_s = work.what_if ? finite(work.what_if->none.seconds) : 0;
    const auto shape = std::find_if(work.shapes.begin(), work.shapes.end(),
                                    [](const ReportLaunchShape& one) { return one.occupancy.has_value(); });
    const double occupancy = shape == work.shapes.end() ? 0 : finite(shape->occupancy->percent);
    std::string text = fmt::format(
        "<details id=\"k{}\" data-gpu=\"{}\" data-gain=\"{}\" data-most=\"{}\" data-occupancy=\"{}\" data-what=\"{}\" "
        "data-where=\"{}\">\n<summary>",
        number, finite(work.gpu_s), half_s, none_s, occupancy, html(work.name.substr(0, kSorted)),
        html(where));
    const double share = most_s > 0 ? std::clamp(100 * finite(work.gpu_s) / most_s, 0.0, 100.0) : 0;
    text += fmt::format(
        "<span class=\"number time\">{}<i style=\"width:{:.1f}%\"></i></span><span class=\"number\">{}</span>",
        seconds_text(work.gpu_s), share, html(percent_text(work.percent)));
    if (is_hidden(work))
      text += "<span class=\"number\">hidden</span><span class=\"number most\">-</span>";
    else if (work.what_if)
      text += fmt::format(
          "<span class=\"number gain\">{}<small>{}</small></span><span class=\"number most\">{}</span>",
          seconds_text(half_s), range_text(work.what_if->half), seconds_text(none_s));
    else
      text += "<span class=\"number\">-</span><span class=\"number most\">-</span>";
    return text +
           fmt::format(
               "<span class=\"what\">{}</span><span class=\"where\">{}</span><span "
               "class=\"occupancy\">{}</span></summary>\n",
               html(work.name), html(where),
               shape == work.shapes.end() ? "" : html(occupancy_text(*shape->occupancy))) +
           body(number, work) + "</details>\n";
  }

 private:
  static constexpr size_t kSorted = 200;  // characters that rows are sorted by

  std::string body(size_t number, const ReportGpuWork& work) const {
    std::string text = "<div class=\"body\"><dl>";
    if (work.full_name != work.name) text += html_item("kernel", "<code>" + html(work.full_name) + "</code>");
    std::string times = pieces_text(work, work.count);
    times += fmt::format("; shortest {}, median {}, longest {}", seconds_text(work.shortest_s),
                         seconds_text(work.median_s), seconds_text(work.longest_s));
    if (work.bytes > 0) times += "; " + bytes_text(work.bytes);
    if (work.in_graphs) times += "; some of it in CUDA graphs";
    text += html_item("GPU time", times);
    if (seconds_text(work.least_s) != seconds_text(work.most_s))
      text += html_item("processes", "from " + seconds_text(work.least_s) + " to " +
                                         seconds_text(work.most_s) + " in each");
    if (work.what_if) {
      text += html_item("gain", "the run gains " + what_if_text(work.what_if->half, work.what_if->none));
      if (work.what_if->half_fixed && work.what_if->none_fixed)
        text += html_item("then", "once the findings are fixed, the run gains " +
                                      what_if_text(*work.what_if->half_fixed, *work.what_if->none_fixed));
      text += html_item("range", html(work.what_if->reason));
    }
    text +=
        html_item("id", html(work.id)) + "</dl>\n" + kernel_html(work, reader_) + shapes(work) + paths(work);
    return text +
           fmt::format(
               "<p class=\"needs-script\"><button type=\"button\" data-show-work=\"{}\">Show in the tree</button></p>"
               "</div>\n",
               number - 1);
  }

  static std::string shapes(const ReportGpuWork& work) {
    if (work.shapes.empty()) return "";
    std::string text =
        "<div class=\"scroll\"><table><thead><tr><th>grid</th><th>block</th><th class=\"number\">launches</th>"
        "<th class=\"number\">GPU time</th><th class=\"number\">registers</th><th class=\"number\">shared memory</th>"
        "<th>occupancy at most</th></tr></thead><tbody>\n";
    for (const ReportLaunchShape& shape : work.shapes)
      text += fmt::format(
          "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>"
          "<td class=\"number\">{}</td><td>{}</td></tr>\n",
          extent_text(shape.grid), extent_text(shape.block), count_text(shape.count),
          seconds_text(shape.gpu_s), shape.registers,
          bytes_text(uint64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes),
          shape.occupancy ? html(occupancy_text(*shape.occupancy)) : "-");
    text += "</tbody></table></div>\n";
    if (work.shape_count > work.shapes.size())
      text += fmt::format("<p class=\"status\">{} are not shown.</p>\n",
                          counted(work.shape_count - work.shapes.size(), "shorter shape"));
    return text;
  }

  std::string paths(const ReportGpuWork& work) const {
    std::string text;
    for (const ReportGpuPath& path : work.paths) {
      const std::string where = where_text(path.where, reader_.folder, kWholePlace);
      text += "<div class=\"problem\"><dl>" +
              html_item("launched", "<span class=\"where\">" +
                                        html(where.empty() ? "at an unknown place" : where) + "</span>" +
                                        (path.via.empty() ? "" : html(" by " + path.via)));
      text += html_item("GPU time", seconds_text(path.gpu_s) + " in " + pieces_text(work, path.count));
      if (path.what_if)
        text += html_item("gain", "the run gains " + what_if_text(path.what_if->half, path.what_if->none));
      text += "</dl>\n" + html_stack(path.stack, reader_) + "</div>\n";
    }
    if (work.path_count > work.paths.size())
      text += fmt::format("<p class=\"status\">{} are not shown.</p>\n",
                          counted(work.path_count - work.paths.size(), "shorter launch path"));
    return text;
  }

  const Reader& reader_;
};

const char* const kWorkColumns =
    "<div class=\"head needs-script\" id=\"work-head\"><span></span>"
    "<button type=\"button\" class=\"number\" data-column=\"gpu\" data-order=\"usual\">GPU time</button><span></span>"
    "<button type=\"button\" class=\"number\" data-column=\"gain\">gain if twice as fast</button>"
    "<button type=\"button\" class=\"number\" data-column=\"most\">at most</button>"
    "<button type=\"button\" data-column=\"what\">kernel or copy</button>"
    "<button type=\"button\" data-column=\"where\">launched at</button>"
    "<button type=\"button\" data-column=\"occupancy\" data-numeric>occupancy</button></div>\n";

}  // namespace

std::string gpu_work_html(const Report& report, const Reader& reader) {
  if (!report.profile) return "";
  const ReportProfile& profile = *report.profile;
  std::string text = "<section id=\"kernels\"><h2>" + gpu_work_title(profile) + "</h2>\n";
  text += fmt::format(
      "<p>The GPU was busy for {} of {}; all pieces of its work together took {}. <em>Gain</em> is what the run gains if "
      "that work takes half as long, <em>at most</em> if it takes no time. It is less than the time saved on the GPU where "
      "the run does not wait for it, and <em>hidden</em> where the run gains nothing.</p>\n",
      seconds_text(profile.gpu_busy_s), seconds_text(report.whole_s()), seconds_text(profile.gpu_s));
  if (profile.work.empty()) return text + "<p class=\"nothing\">No GPU work was recorded.</p></section>\n";
  if (!profile.notes.empty()) {
    text += "<ul>\n";
    for (const std::string& note : profile.notes) text += "<li>" + html(note) + "</li>\n";
    text += "</ul>\n";
  }
  if (!profile.no_samples.empty())
    text += "<p>Inside kernels nothing was measured: " + html(profile.no_samples) + "</p>\n";
  text += std::string("<div class=\"work\">\n") + kWorkColumns + "<div class=\"rows\" id=\"work-list\">\n";
  double most_s = 0;
  for (const ReportGpuWork& work : profile.work) most_s = std::max(most_s, finite(work.gpu_s));
  const WorkRows rows(reader);
  for (size_t i = 0; i < profile.work.size(); ++i) text += rows.row(i + 1, profile.work[i], most_s);
  text += "</div></div>\n<p class=\"status\" id=\"work-status\" role=\"status\">";
  if (profile.work_count > profile.work.size())
    text += fmt::format("{} that take {} together are not shown.",
                        count_text(profile.work_count - profile.work.size()) + " more kernels",
                        seconds_text(profile.left_out_s));
  return text + "</p></section>\n";
}

namespace {

// `what`: HTML.
std::string idle_row(const ReportIdle& idle, double seconds, const std::string& what,
                     const std::string& place) {
  return fmt::format(
      "<tr><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td><td class=\"where\">{}</td></tr>\n",
      seconds_text(seconds), percent_text(100 * seconds / idle.idle_s), what, html(place));
}
std::string idle_rows(const std::string& rows) {
  return "<div class=\"scroll\"><table><tbody>\n" + rows + "</tbody></table></div>\n";
}
std::string strong(const std::string& name) {
  return "<strong>" + html(shortened_name(name, kLongestIdleName)) + "</strong>";
}

std::string idle_places_html(const ReportProfile& profile) {
  const std::vector<IdlePlace> places = idle_places(profile);
  if (places.empty()) return "";
  std::string rows;
  bool much_short_work = false, of_python = false;
  for (size_t i = 0; i < places.size() && i < kMostIdlePlaces; ++i) {
    rows += idle_row(*profile.idle, places[i].seconds, strong(places[i].name), places[i].place);
    for (const std::string& said :
         {places[i].short_work, std::string(places[i].of_python ? kPythonAlone : "")})
      if (!said.empty()) rows += "<tr><td></td><td></td><td colspan=\"2\">" + html(said) + "</td></tr>\n";
    much_short_work |= !places[i].short_work.empty();
    of_python |= places[i].of_python;
    for (const IdlePlace::Part& part : places[i].parts)
      rows += idle_row(*profile.idle, part.seconds, html(shortened_name(part.what, kLongestIdleName)),
                       part.where);
  }
  return "<p>By function of yours, with what libraries and the driver do for it. " + html(kIdleGain) +
         "</p>\n" + idle_rows(rows) +
         (much_short_work ? "<p>" + html(short_work_advice(profile)) + "</p>\n" : "") +
         (of_python ? "<p>" + html(kWorkOfPython) + "</p>\n" : "");
}

std::string idle_loops_html(const ReportProfile& profile) {
  const std::vector<IdleLoop> loops = idle_loops(profile);
  if (loops.empty()) return "";
  std::string rows;
  for (size_t i = 0; i < loops.size() && i < kMostIdlePlaces; ++i) {
    std::string what = strong(loops[i].name);
    if (!loops[i].caller.empty())
      what += " called by " + html(shortened_name(loops[i].caller, kLongestIdleName) + loops[i].caller_place);
    rows += idle_row(*profile.idle, loops[i].seconds, what, loops[i].place);
  }
  return "<p>Loops of yours that the CPU is in meanwhile, as samples found it. " + html(kIdleLoops) +
         "</p>\n" + idle_rows(rows);
}

}  // namespace

std::string idle_html(const Report& report) {
  if (!report.profile || !idle_is_worth_a_word(*report.profile)) return "";
  const ReportIdle& idle = *report.profile->idle;
  std::string rows;
  for (const IdleMeanwhile& part : idle_meanwhile(idle))
    rows += idle_row(idle, part.seconds, html(part.what), "");
  return "<section id=\"idle\"><h2>Why the GPU is idle</h2>\n<p>It is idle for " +
         html(idle_phrase(idle) + ". " + idle_of_loop(idle)) + " Meanwhile, in all:</p>\n" + idle_rows(rows) +
         idle_places_html(*report.profile) + idle_loops_html(*report.profile) + "</section>\n";
}

std::string contexts_html(const Report& report) {
  if (!report.profile) return "";
  std::string text =
      "<section id=\"contexts\"><h2>Where time goes</h2>\n<p>Each function of the CPU below its caller, and GPU work "
      "below the call that launched it. <em>Time</em> is that of threads: computing (CPU), in the driver, and "
      "waiting. Figures "
      "include what is called. <em>Recoverable</em> is what fixing the findings there saves, <em>gain</em> what the "
      "run gains "
      "if the GPU work there takes half as long. Both are sums of single figures, which may overlap.";
  if (report.profile->recording_s > 0)
    text += fmt::format(" Recording took {}, which is in no row.", seconds_text(report.profile->recording_s));
  text += "</p>\n";
  if (report.profile->contexts.size() < 2)
    return text + "<p class=\"nothing\">No calling contexts were recorded.</p></section>\n";
  return text +
         "<p class=\"without-script nothing\">The tree and its flame graph need scripts.</p>\n"
         "<div class=\"beside\"><div>\n"
         "<div class=\"tools needs-script\"><span class=\"choice\" id=\"tree-views\" role=\"group\" aria-label=\"View\">"
         "<button type=\"button\" data-view=\"top-down\" aria-pressed=\"true\">Top-down</button>"
         "<button type=\"button\" data-view=\"bottom-up\" aria-pressed=\"false\">Bottom-up</button>"
         "<button type=\"button\" data-view=\"flat\" aria-pressed=\"false\">Flat</button></span>"
         "<button type=\"button\" id=\"tree-hot\">Hot path</button>"
         "<details id=\"tree-columns\"><summary>Columns</summary><div></div></details></div>\n"
         "<div class=\"scroll\"><table id=\"tree\" role=\"treegrid\" aria-label=\"Calling contexts\"></table></div>\n"
         "<p class=\"status\" id=\"tree-status\" role=\"status\"></p>\n"
         "<p class=\"status needs-script\"><kbd>&uarr;</kbd> <kbd>&darr;</kbd> move, <kbd>&rarr;</kbd> <kbd>&larr;</kbd> "
         "unfold and fold, <kbd>Enter</kbd> selects, <kbd>h</kbd> unfolds the hot path below.</p>\n"
         "</div><div class=\"needs-script\">\n"
         "<div class=\"tools\"><span class=\"choice\" id=\"time-flame-metric\" role=\"group\" aria-label=\"Flame "
         "graph of\">"
         "<button type=\"button\" data-metric=\"time\" aria-pressed=\"true\">CPU time</button>"
         "<button type=\"button\" data-metric=\"gpu\" aria-pressed=\"false\">GPU time</button></span>"
         "<button type=\"button\" id=\"time-flame-reset\">Show all</button></div>\n"
         "<div class=\"drawing\"><div class=\"flame-view\" id=\"time-flame-view\"></div></div>\n"
         "<p class=\"status\" id=\"time-flame-status\" role=\"status\"></p>\n"
         "</div></div></section>\n";
}

}  // namespace diogenes
