// `diogenes report`: stage 5 again over a session that is there already, as text or JSON, to stdout.
#include <fmt/format.h>
#include <unistd.h>

#include "analysis/proof/proved_report.h"
#include "launcher/command_line/messages.h"
#include "launcher/command_line/output_file.h"
#include "launcher/measuring/session_folder.h"
#include "launcher/options.h"
#include "trace/session.h"
#include "views/exports/exports.h"
#include "views/text/text.h"

namespace diogenes::launcher {

namespace {

Order order_of(const std::string& name) {
  if (name == "count") return Order::calls;
  if (name == "waited") return Order::waited;
  return name == "bytes" ? Order::bytes : Order::benefit;
}

}  // namespace

int report(const ReportOptions& options) {
  Result<std::filesystem::path> folder = choose_session(options.session);
  if (!folder) return fail(kOwnFailure, folder.error().c_str());
  Result<Session> session = read_session(*folder);
  if (!session) return fail(kOwnFailure, session.error().c_str());
  AnalysisOptions analysis{.threshold_percent = options.threshold_percent,
                           .model = model_of(options.model),
                           .owners = {options.own, options.library}};
  for (const std::string& text : options.subsequences) {
    Result<PartOfSequence> part = part_of_sequence(text);
    if (!part) return fail(kUsage, part.error().c_str());
    analysis.parts.push_back(*part);
  }
  Result<Report> result = analyse_proved(*folder, analysis);
  if (!result) return fail(kOwnFailure, result.error().c_str());

  if (!options.details.empty() && options.details != "all" && !has_id(*result, options.details))
    return fail(kUsage, fmt::format("--details: the report has no {}; `diogenes report` lists what it has",
                                    options.details));
  const ProcessChoice processes{options.rank, options.process};
  if (Status there = check_choice(*result, processes); !there) return fail(kUsage, there.error().c_str());
  std::string text = options.format == "json" ? to_json(*result)
                                              : to_text(*result, {.top = options.top,
                                                                  .width = columns(STDOUT_FILENO),
                                                                  .color = colors_wanted(STDOUT_FILENO),
                                                                  .details = options.details,
                                                                  .sequences = options.sequences,
                                                                  .profile = options.profile,
                                                                  .order = order_of(options.sort),
                                                                  .kind = options.kind,
                                                                  .processes = processes,
                                                                  .working_folder = session->working_folder,
                                                                  .session = folder->string()});
  Status written = write_output("-", text, false);
  return written ? kSuccess : fail(kOwnFailure, written.error().c_str());
}

}  // namespace diogenes::launcher
