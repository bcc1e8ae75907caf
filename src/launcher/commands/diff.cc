// `diogenes diff OLD NEW`: what a change of the program brought.
#include <unistd.h>

#include "analysis/proof/proved_report.h"
#include "launcher/command_line/messages.h"
#include "launcher/command_line/output_file.h"
#include "launcher/measuring/session_folder.h"
#include "launcher/options.h"
#include "trace/session.h"
#include "views/text/comparison.h"

namespace diogenes::launcher {

int diff(const DiffOptions& options) {
  std::vector<Report> reports;
  std::string working_folder;
  for (const std::string& name : {options.before, options.now}) {
    Result<Session> session = read_session(name);
    if (!session) return fail(kOwnFailure, session.error().c_str());
    working_folder = session->working_folder;
    Result<Report> report =
        analyse_proved(name, {.model = model_of(options.model), .owners = {options.own, options.library}});
    if (!report) return fail(kOwnFailure, report.error().c_str());
    reports.push_back(std::move(*report));
  }
  Status written = write_output("-",
                                comparison_text(reports[0], reports[1],
                                                {.top = options.top,
                                                 .width = columns(STDOUT_FILENO),
                                                 .color = colors_wanted(STDOUT_FILENO),
                                                 .working_folder = working_folder}),
                                false);
  return written ? kSuccess : fail(kOwnFailure, written.error().c_str());
}

}  // namespace diogenes::launcher
