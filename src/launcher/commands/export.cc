// `diogenes export`: a session's report for other programs.
#include "analysis/proof/proved_report.h"
#include "analysis/report/timeline.h"
#include "launcher/command_line/messages.h"
#include "launcher/command_line/output_file.h"
#include "launcher/measuring/session_folder.h"
#include "launcher/options.h"
#include "trace/session.h"
#include "views/exports/exports.h"
#include "views/html/html.h"
#include "views/text/gpu_work.h"

namespace diogenes::launcher {
namespace {

// A file of so many events has about 100 MB, which ui.perfetto.dev opens in some seconds.
constexpr size_t kPerfettoIntervals = 500'000;

size_t intervals_for(const std::string& format) {
  if (format == "html") return kUsualIntervals;
  return format == "perfetto" ? kPerfettoIntervals : 0;
}

bool needs_profile(const std::string& format) {
  return format == "collapsed-time" || format == "speedscope" || format == "pprof";
}

std::string as(const std::string& format, const Report& report, const Reader& reader) {
  if (format == "html") return to_html(report, reader);
  if (format == "csv") return to_csv(report);
  if (format == "kernels-csv") return to_kernels_csv(report);
  if (format == "markdown") return to_markdown(report, reader);
  if (format == "sarif") return to_sarif(report, reader);
  if (format == "perfetto") return to_perfetto(report);
  if (format == "collapsed") return to_collapsed(report);
  if (format == "collapsed-time") return to_collapsed_time(report);
  if (format == "speedscope") return to_speedscope(report);
  if (format == "pprof") return to_pprof(report);
  return to_json(report);
}

}  // namespace

int export_report(const ExportOptions& options) {
  Result<std::filesystem::path> folder = choose_session(options.session);
  if (!folder) return fail(kOwnFailure, folder.error().c_str());
  Result<Session> session = read_session(*folder);
  if (!session) return fail(kOwnFailure, session.error().c_str());
  Result<Report> report = analyse_proved(*folder, {.model = model_of(options.model),
                                                   .owners = {options.own, options.library},
                                                   .timeline = intervals_for(options.format)});
  if (!report) return fail(kOwnFailure, report.error().c_str());
  if (needs_profile(options.format) && !report->profile)
    return fail(kOwnFailure, ("this session has no times for " + options.format +
                              ": when GPU work ran was not measured; 'diogenes doctor' says what that needs")
                                 .c_str());
  const Reader reader{.folder = session->working_folder, .session = folder->string()};
  Status written = write_output(options.file, as(options.format, *report, reader), options.force);
  return written ? kSuccess : fail(kOwnFailure, written.error().c_str());
}

}  // namespace diogenes::launcher
