// `diogenes report`: stage 5 again over a session that is there already, as text or JSON, to stdout.
#include <fmt/format.h>
#include <unistd.h>

#include "analysis/proof/proved_report.h"
#include "launcher/command_line/messages.h"
#include "launcher/command_line/option_checks.h"
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

bool is_order(const std::string& name) {
  return name.empty() || name == "benefit" || name == "count" || name == "waited" || name == "bytes";
}

// "" or what is wrong with it.
std::string wrong_options(const ReportOptions& options) {
  if (options.tree.empty()) {
    if (!is_order(options.sort))
      return "--sort: findings are sorted by benefit, count, waited or bytes; columns are for --tree";
    return options.columns.empty() && !options.depth ? "" : "--columns and --depth are for --tree";
  }
  if (!tree_view_named(options.tree))
    return fmt::format("--tree: there is no view '{}'; the views are top-down, bottom-up, flat",
                       options.tree);
  std::string sort = options.sort;
  const std::string wrong = sort.empty() ? "" : kTreeColumn(sort);
  return wrong.empty() ? "" : "--sort: " + wrong;
}

std::optional<TreeTextOptions> tree_of(const ReportOptions& options) {
  if (options.tree.empty()) return std::nullopt;
  TreeTextOptions tree;
  tree.view = tree_view_named(options.tree).value_or(TreeView::top_down);
  for (const std::string& name : options.columns)
    if (const auto column = tree_column_named(name)) tree.columns.push_back(*column);
  tree.sort = tree_column_named(options.sort);
  if (options.depth) tree.depth = static_cast<size_t>(*options.depth);
  return tree;
}

}  // namespace

int report(const ReportOptions& given) {
  ReportOptions options = given;
  // `report --tree als.1.diogenes`: the session, not a view.
  if (!options.tree.empty() && !tree_view_named(options.tree) && options.session.empty()) {
    options.session = options.tree;
    options.tree = name_of(TreeView::top_down);
  }
  if (const std::string wrong = wrong_options(options); !wrong.empty()) return fail(kUsage, wrong.c_str());
  Result<std::filesystem::path> folder = choose_session(options.session);
  if (!folder) return fail(kOwnFailure, folder.error().c_str());
  Result<Session> session = read_session(*folder);
  if (!session) return fail(kOwnFailure, session.error().c_str());
  AnalysisOptions analysis{.threshold_percent = options.threshold_percent,
                           .model = model_of(options.model),
                           .owners = {options.own, options.library},
                           .window = static_cast<uint32_t>(options.window)};
  for (const std::string& text : options.subsequences) {
    Result<PartOfSequence> part = part_of_sequence(text);
    if (!part) return fail(kUsage, part.error().c_str());
    analysis.parts.push_back(*part);
  }
  Result<Report> result = analyse_proved(*folder, analysis);
  if (!result) return fail(kOwnFailure, result.error().c_str());
  const uint32_t windows = result->window ? result->window->count : 0;
  if (analysis.window > windows)
    return fail(kUsage, windows == 0 ? std::string("--window: the session was not recorded in windows")
                                     : fmt::format("--window: there is no window {}; there are {}",
                                                   analysis.window, windows));

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
                                                                  .kernels = options.kernels,
                                                                  .tree = tree_of(options),
                                                                  .order = order_of(options.sort),
                                                                  .kind = options.kind,
                                                                  .processes = processes,
                                                                  .working_folder = session->working_folder,
                                                                  .session = folder->string()});
  Status written = write_output("-", text, false);
  return written ? kSuccess : fail(kOwnFailure, written.error().c_str());
}

}  // namespace diogenes::launcher
