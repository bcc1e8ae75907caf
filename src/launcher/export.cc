// `diogenes export`: a session's report for other programs.
#include "analysis/analyse.h"
#include "launcher/messages.h"
#include "launcher/options.h"
#include "launcher/output_file.h"
#include "launcher/session_folder.h"
#include "views/json.h"

namespace diogenes::launcher {

int export_report(const ExportOptions& options) {
  Result<std::filesystem::path> folder = choose_session(options.session);
  if (!folder) return fail(kOwnFailure, folder.error().c_str());
  Result<Report> report =
      analyse(*folder, {.model = model_of(options.model), .owners = {options.own, options.library}});
  if (!report) return fail(kOwnFailure, report.error().c_str());
  Status written = write_output(options.file, to_json(*report), options.force);
  return written ? kSuccess : fail(kOwnFailure, written.error().c_str());
}

}  // namespace diogenes::launcher
